// compile(): speeds up a function that is called repeatedly. It records the operators of the function as a graph, and
// later calls run the graph in place of the function.
//
//   auto step = shunt::compile([&](const Tensor& x, const Tensor& y) {
//     w.mutable_grad() = Tensor();
//     Tensor loss = shunt::mse_loss(x.mm(w), y);
//     loss.backward();
//     NoGradGuard no_grad;
//     w.sub_(w.grad(), 0.1);
//     return loss;
//   });
//   for (...) step(x, y);                            // the same bits as without compile()
//
// Note [Compiled functions]
// The first calls run the function. When arguments repeat (CompileOptions::record_after), the function is recorded once
// on fake tensors (trace.h), so recording computes and writes nothing. Later calls run the graph, unless it turns out
// to be slower than the function. A recording is a *variant*. At every call, its guard compares
//   - dtypes, devices, sizes and strides of tensors, whether they require grad, and the same of their grads;
//   - which tensors are one tensor, or share memory;
//   - numbers among the arguments, lengths of vectors, and which optionals are set;
//   - grad mode, inference mode, autocast and the default dtype.
// Other arguments get another variant, up to CompileOptions::max_sizes sizes of one kind and ::max_variants kinds.
// Calls beyond these bounds run the function. A registration for an operator that the function called, or that such an
// operator calls, invalidates the variant before the registration returns.
//
// These calls run the function; explain() gives the reason:
//   - under a dispatch mode, in a trace, inside vmap, grad or functionalize, with fake or wrapper tensors;
//   - captured tensors have hooks, or grads share memory;
//   - the function enters a mode, reads numbers of tensors (item()), or seeds random numbers;
//   - it stores a tensor that it has made in a variable, which holds a dead tensor after the recording;
//   - it returns a tensor after its backward() has freed only a part of the tensor's graph.
// If an operator of a graph throws, the function runs and gives the error. If the graph writes to tensors or draws
// random numbers, the function can't run again: the operator's error leaves the call, and some writes are done.
//
// C++ can't inspect what a function captures or does:
//   - Captured tensors are held by identity, as of the recording. Each call reads and writes their elements and grads.
//     A variable that holds another tensor since is not seen, unless CompileOptions::captures names it.
//   - Numbers keep their value of the recording, unless they are arguments or CompileOptions::scalars names them.
//   - The graph only calls operators. It doesn't count or print, as the function may.
// So some runs are checked against the function (CompileCheck). SHUNT_COMPILE=0 always runs the function.
#pragma once

#include <shunt/compile/plan_description.h>
#include <shunt/core/error.h>
#include <shunt/core/function_ref.h>
#include <shunt/core/inline_vector.h>
#include <shunt/trace/trace.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace shunt {

/// Which runs of a graph are compared with the function, to the bit: results, written tensors and grads, metadata,
/// random numbers, gradients. Checks limit how long a difference goes unseen; they don't prove that there is none.
enum class CompileCheck : uint8_t {
  kNever,
  /// The three runs after the call that records a variant, then one after 2, 4, 8 ... more, until checks cost less than
  /// 1 % of the variant's time. That distance is kept. In a checked run, the graph works on copies first. Then the
  /// function runs; its results and effects are kept. After a difference, there is a warning, and later calls run the
  /// function. Graphs that call kernels of the program are not checked, because the kernels would run twice.
  kFirst,
  /// Each run, of all graphs. A difference throws.
  kAlways,
};

/// The value of SHUNT_COMPILE_CHECK (never, first or always); kFirst if it is unset.
SHUNT_API CompileCheck default_compile_check();
/// The value of SHUNT_COMPILE_RECORD_AFTER (auto or a number); CompileOptions::kWhenItPays if it is unset.
SHUNT_API int default_record_after();

/// Options of compile(). A number below its minimum, or a null pointer, makes compile() throw.
struct CompileOptions {
  /// Variables that the function reads and that may hold other tensors later. Each call compares them. They must
  /// outlive the compiled function.
  std::vector<const Tensor*> captures = {};
  /// The same for number variables. Each value gets a variant, so a number that always changes belongs in a tensor.
  std::vector<const double*> scalars = {};
  /// How many kinds of arguments are recorded, 1 or more. A kind is all that the guard compares except sizes and
  /// strides.
  int max_variants = 8;
  /// How many sizes of one kind are recorded, 1 or more. The more there are, the more often a new one must repeat
  /// before it is recorded.
  int max_sizes = 32;
  CompileCheck check = default_compile_check();
  /// 1 or more: this many calls with arguments of one kind and size run the function; the next one records, and the
  /// graph is always used. kWhenItPays: the function is recorded once such calls have taken twice as long as recording
  /// is expected to take, and SHUNT_JIT_BUDGET allows it. The graph is used only while it is faster.
  int record_after = default_record_after();
  static constexpr int kWhenItPays = 0;
  /// The name of the function in explain() and in the log.
  std::string name = "compiled function";
};

/// How many calls so far ran what.
struct CompileCounts {
  uint64_t hits = 0;         // calls that ran a variant
  uint64_t eager = 0;        // calls that ran the function
  uint64_t recorded = 0;     // recordings of the function
  uint64_t invalidated = 0;  // variants that are out of use: by a registration, or as a check found a difference
  uint64_t variants = 0;     // variants in use
  double record_ms = 0;      // CPU milliseconds of recording and planning
};

namespace detail {

class ErrorsHeard;

/// What a guard compares of a call's arguments.
struct CompileArguments {
  InlineVector<const Tensor*, 8> tensors;  // the caller's
  InlineVector<uint64_t, 8> numbers;       // in the arguments' order, with the lengths and gaps of containers
  const std::type_info* types;
};

using CompileOutputs = InlineVector<Tensor, 4>;

/// Hashes of a call: `sizes` of sizes and strides, `kind` of all else that a guard compares.
struct CompileKind {
  uint64_t kind = 0, sizes = 0;
};

/// The part of a compiled function that doesn't depend on types. Any thread; Note [Variants]
/// (src/compile/variants.h).
class SHUNT_API CompiledFunction {
  struct State;

 public:
  explicit CompiledFunction(CompileOptions options);
  ~CompiledFunction();
  CompiledFunction(const CompiledFunction&) = delete;
  CompiledFunction& operator=(const CompiledFunction&) = delete;

  class Variant;
  enum class Way : uint8_t { kCall, kRecord, kRun };
  struct Decision {
    Way way = Way::kCall;
    const Variant* variant = nullptr;
  };
  /// True if the call runs the function without a look at its arguments: Note [Calls that pass by]
  /// (src/compile/function_state.h).
  bool passesBy() {
    const uint32_t left = passing_->load(std::memory_order_relaxed);
    if (left == 0) [[likely]]
      return false;
    passing_->store(left - 1, std::memory_order_relaxed);
    return true;
  }
  /// Measures a call until its end, if decide() starts it.
  class SHUNT_API CallTimer {
   public:
    explicit CallTimer(CompiledFunction& function) : state_(*function.state_) {}
    ~CallTimer() {
      if (what_ != What::kNothing) [[unlikely]]
        stop();
    }
    CallTimer(const CallTimer&) = delete;
    CallTimer& operator=(const CallTimer&) = delete;

   private:
    friend class CompiledFunction;
    enum class What : uint8_t { kNothing, kCall, kMiss, kTurn };
    void start(What what);
    void startMiss(const CompileKind& kind);
    void startTurn(const Variant& variant);
    void stop() noexcept;
    State& state_;
    What what_ = What::kNothing;
    int exceptions_ = 0;                // uncaught ones when the call began
    const Variant* variant_ = nullptr;  // kTurn: the variant in trial
    CompileKind kind_;                  // kMiss: of the call, which found no variant
    int64_t began_ = 0;                 // ns
  };
  Decision decide(const CompileArguments& arguments, CallTimer& timer);
  /// Records after kRecord. Lives until the call ends, because it compares the errors of the recording with those of
  /// the function, if that runs.
  class SHUNT_API Attempt {
   public:
    Attempt(CompiledFunction& function, const CompileArguments& arguments);
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    /// `record` runs the function on wrappers and returns a template of its result. Null if this gave no variant that
    /// this call can run; the caller then runs the function.
    const Variant* record(FunctionRef<std::shared_ptr<void>(TraceCall&, const std::vector<Tensor>&)> record);

   private:
    std::unique_ptr<Variant> make(FunctionRef<std::shared_ptr<void>(TraceCall&, const std::vector<Tensor>&)> record);
    State& state_;
    const CompileArguments& arguments_;
    const CompileKind kind_;
    const int exceptions_;
    bool is_over_ = false;  // a variant was made
    std::string why_not_;
    // Note [Errors that the function catches] (src/compile/attempt.cpp).
    std::unique_ptr<Variant> unconfirmed_;
    std::unique_ptr<ErrorsHeard> heard_;
  };
  struct Ran {
    CompileOutputs outputs;
    bool by_function = false;  // the caller's function ran, and what it returned is the result
  };
  /// Runs the variant's graph. `function` calls the caller's function and returns its tensors; it is called for checks,
  /// and if the graph throws.
  Ran run(const Variant& variant, const CompileArguments& arguments, FunctionRef<CompileOutputs()> function);
  /// What `record` returned for this variant.
  static const void* result(const Variant& variant);

  CompileCounts counts() const;
  std::string explain() const;
  std::string explain(const CompileArguments& arguments) const;
  const Graph* graph() const;
  std::vector<PlanDescription> plans() const;

 private:
  std::unique_ptr<State> state_;
  std::atomic<uint32_t>* passing_;  // the state's
};

/// The bits of a number that a guard compares.
template <class T>
uint64_t bitsOfNumber(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  else
    return static_cast<uint64_t>(value);
}

/// Whether a type is Tensor, or a container of nothing but Tensors.
template <class T>
struct AllTensors : std::false_type {};
template <>
struct AllTensors<Tensor> : std::true_type {};
template <class T>
struct AllTensors<std::vector<T>> : AllTensors<T> {};
template <class T>
struct AllTensors<std::optional<T>> : AllTensors<T> {};
template <class T, size_t N>
struct AllTensors<std::array<T, N>> : AllTensors<T> {};
template <class A, class B>
struct AllTensors<std::pair<A, B>> : std::conjunction<AllTensors<A>, AllTensors<B>> {};
template <class... T>
struct AllTensors<std::tuple<T...>> : std::conjunction<AllTensors<T>...> {};

}  // namespace detail

/// What compile() returns; it is called like the function. It owns the function. Copies share their variants. Any
/// thread may call it, if the function may run there. All members of one that was moved from throw.
template <class F>
class Compiled {
 public:
  Compiled(F f, CompileOptions options)
      : f_(std::move(f)), state_(std::make_shared<detail::CompiledFunction>(std::move(options))) {}

  /// Arguments are Tensors, tuples, pairs, arrays, vectors and optionals of Tensors, numbers and enumerators. Throws
  /// what the function throws.
  template <class... Args>
  auto operator()(const Args&... args) const {
    static_assert(
        std::is_invocable_v<const F&, const Args&...>,
        "compile: the function is called as a const object, with const references to the arguments. So it must "
        "not be mutable, must not take Tensor&, and the arguments must have the types that it names");
    using Result = std::remove_cvref_t<decltype(f_(args...))>;
    static_assert((isArgument<Args>() && ...),
                  "compile: an argument is neither a tensor nor a container of tensors nor a number, so no guard can "
                  "compare it. Capture it, or pass the tensors and numbers that it holds");
    static_assert(std::is_void_v<Result> || detail::AllTensors<Result>::value,
                  "compile: the function has to return nothing, a Tensor, or a tuple, pair, array, vector or optional "
                  "of Tensors: a graph would return other values as they were when it was recorded");
    detail::CompiledFunction& state = this->state();
    if (state.passesBy()) return f_(args...);
    const detail::CompileArguments call = callOf(args...);
    detail::CompiledFunction::CallTimer timer(state);
    auto decision = state.decide(call, timer);
    if (decision.way == detail::CompiledFunction::Way::kRecord) {
      detail::CompiledFunction::Attempt attempt(state, call);
      const auto record = [&](detail::TraceCall& trace, const std::vector<Tensor>& wrappers) {
        return recordResult<Result>(trace, wrappers, args...);
      };
      decision.variant = attempt.record(record);
      if (decision.variant == nullptr) return f_(args...);
    }
    if (decision.variant == nullptr) return f_(args...);
    using Kept = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;
    std::optional<Kept> own;  // the result of the function, if it runs
    auto ran = state.run(*decision.variant, call, [&] { return tensorsOfResult<Result>(own, args...); });
    if constexpr (!std::is_void_v<Result>) {
      if (ran.by_function) return Result(*std::move(own));
      size_t next = 0;
      auto put = [&](const Tensor&) { return std::move(ran.outputs[next++]); };
      return detail::mapTensorsIn(*static_cast<const Result*>(detail::CompiledFunction::result(*decision.variant)),
                                  put);
    }
  }

  /// How many calls of all copies ran what.
  CompileCounts counts() const { return state().counts(); }
  /// Text for people: the variants with their guards, and why calls ran the function.
  std::string explain() const { return state().explain(); }
  /// Text for people: what a call with these arguments would run in the calling thread's modes, and if no graph, why.
  /// Makes no call.
  template <class... Args>
    requires(sizeof...(Args) > 0)
  std::string explain(const Args&... args) const {
    return state().explain(callOf(args...));
  }
  /// The graph of the variant that was made or run last; null if there is none. Valid while a copy of this lives.
  const Graph* graph() const { return state().graph(); }
  /// The plan of that graph, followed by those of its backward passes; empty if there is no graph.
  std::vector<PlanDescription> plans() const { return state().plans(); }
  /// plans() as text.
  std::string plan() const { return textOf(plans()); }

 private:
  detail::CompiledFunction& state() const {
    SHUNT_CHECK(state_ != nullptr, "compile: this compiled function was moved from; a copy would share its graphs");
    return *state_;
  }
  template <class T>
  static constexpr bool isArgument() {
    return detail::AllTensors<T>::value || numbersIn<T>() == 1;
  }
  template <class T>
  static constexpr size_t numbersIn() {
    return std::is_arithmetic_v<T> || std::is_enum_v<T> ? 1 : 0;
  }
  template <class... Args>
  static detail::CompileArguments callOf(const Args&... args) {
    detail::CompileArguments call{{}, {}, &typeid(std::tuple<Args...>)};
    (collect(args, call), ...);
    return call;
  }
  template <class T>
  static void collect(const T& value, detail::CompileArguments& out) {
    if constexpr (std::is_same_v<T, Tensor>)
      out.tensors.push_back(&value);  // also if it is undefined
    else if constexpr (detail::TensorsIn<T>::kAny)
      collectInside(value, out);
    else
      out.numbers.push_back(detail::bitsOfNumber(value));
  }
  /// Visits tensors in the order of TensorsIn::map, which would copy the containers.
  template <class T>
  static void collectInside(const T& value, detail::CompileArguments& out) {
    if constexpr (std::is_same_v<T, Tensor>) {
      out.numbers.push_back(value.defined());
      if (value.defined()) out.tensors.push_back(&value);
    } else if constexpr (requires { value.has_value(); }) {
      out.numbers.push_back(value.has_value());
      if (value) collectInside(*value, out);
    } else if constexpr (requires { value.begin(); }) {
      out.numbers.push_back(value.size());
      for (const auto& element : value) collectInside(element, out);
    } else {
      std::apply([&](const auto&... element) { (collectInside(element, out), ...); }, value);
    }
  }
  /// Runs the function on wrappers, notes its outputs, and returns its result with a placeholder for each tensor.
  template <class Result, class... Args>
  std::shared_ptr<void> recordResult(detail::TraceCall& trace, const std::vector<Tensor>& wrappers,
                                     const Args&... args) const {
    size_t next = 0;
    auto wrap = [&](const Tensor&) { return wrappers[next++]; };
    const auto wrapped = [&]<class T>(const T& value) {
      if constexpr (std::is_same_v<T, Tensor>)
        return wrappers[next++];
      else
        return T(detail::mapTensorsIn(value, wrap));
    };
    const std::tuple<Args...> inside{wrapped(args)...};
    if constexpr (std::is_void_v<Result>) {
      std::apply(f_, inside);
      return nullptr;
    } else {
      const Result result = std::apply(f_, inside);
      const Tensor placeholder = trace.placeholder();
      auto note = [&](const Tensor& t) {
        trace.output(t);
        return placeholder;
      };
      return std::make_shared<Result>(detail::mapTensorsIn(result, note));
    }
  }
  template <class Result, class Kept, class... Args>
  detail::CompileOutputs tensorsOfResult(std::optional<Kept>& result, const Args&... args) const {
    detail::CompileOutputs out;
    if constexpr (std::is_void_v<Result>)
      f_(args...);
    else {
      result.emplace(f_(args...));
      auto add = [&](const Tensor& t) {
        out.push_back(t);
        return t;
      };
      detail::mapTensorsIn(*result, add);
    }
    return out;
  }

  F f_;
  std::shared_ptr<detail::CompiledFunction> state_;
};

/// Returns a callable that gives the results and effects of `f`, usually faster: Note [Compiled functions]. Throws if
/// an option is out of its range.
template <class F>
Compiled<std::decay_t<F>> compile(F&& f, CompileOptions options = {}) {
  return Compiled<std::decay_t<F>>(std::forward<F>(f), std::move(options));
}

}  // namespace shunt
