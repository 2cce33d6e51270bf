// compile(): a function that is called again and again with tensors of the same kinds, as a graph of its operators that
// runs without the function.
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
// The first calls run the function. When arguments of the same kinds come again and again (::record_after) it is
// recorded once, on fake tensors, so that nothing is computed or written (trace.h), and from then on the graph runs in
// its place, unless it turns out to be slower: a *variant*. A
// variant is for what its guard compares at every call: dtypes, devices, sizes, strides, which arguments share memory
// or are one tensor, which require grad, and their grads likewise; numbers among the arguments, the lengths of vectors
// and which optionals are set; grad mode, inference mode, autocast, the default dtype. Other arguments get a variant of
// their own: other sizes of the same kinds, up to CompileOptions::max_sizes, and other kinds, up to ::max_variants;
// beyond, the function runs. A registration for an operator that a variant was recorded with, or that such an operator
// calls, puts it out of use before the registration returns.
// What the graph can't do is left to the function: under dispatch modes, in a trace, inside vmap, grad or
// functionalize, with fake or wrapper tensors, where captured tensors have hooks or grads share memory; where the
// function enters a mode itself, reads numbers of tensors (item()), seeds random numbers, keeps a tensor that it has
// made in a variable (which a recording leaves with one that is dead), or returns a tensor of which a backward() in it
// has freed a part of the graph only. explain() says which. Where an operator of a graph throws, the function runs,
// whose error it is; in a graph that writes to tensors or draws random numbers that can't be, and some of its writes
// are done.
//
// C++ can't look into a function. Tensors that it captures are held by identity, as they were when it was recorded:
// their elements and grads are read and written by each call, but a variable that holds another tensor since is not
// seen, unless CompileOptions::captures names it. Numbers are frozen, unless they are arguments or named by
// CompileOptions::scalars. What it does besides calling operators (counting, printing) is not done by the graph. So
// some runs are checked (CompileCheck); SHUNT_COMPILE=0 calls the function.
#pragma once

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
/// random numbers, gradients. A bound to what may go unseen, not a proof.
enum class CompileCheck : uint8_t {
  kNever,
  /// The first three runs of each variant, then one after 2, 4, 8 ... more, until checks cost less than 1 % of the
  /// variant's time, then at that distance. In such a run the graph works on copies first, then the function runs,
  /// whose results and effects stand. Where they differ, the function's graphs are dropped with a warning, and calls
  /// run the function. Graphs that call kernels of the program's are not checked, as these would run twice.
  kFirst,
  /// Each run, of all graphs. Throws where they differ.
  kAlways,
};

/// As SHUNT_COMPILE_CHECK says: 0, first or 1; unset: kFirst.
SHUNT_API CompileCheck default_compile_check();
/// As SHUNT_COMPILE_RECORD_AFTER says: auto or a number; unset: CompileOptions::kWhenItPays.
SHUNT_API int default_record_after();

/// Options of compile(), each with a default.
struct CompileOptions {
  /// Variables that the function reads and that may hold other tensors later: compared at each call.
  std::vector<const Tensor*> captures = {};
  /// Numbers likewise. Each value is another variant, so those that are new at every call belong in a tensor.
  std::vector<const double*> scalars = {};
  /// More kinds of arguments than that run the function: all that is compared but sizes and strides.
  int max_variants = 8;
  /// More sizes of one kind than that run the function. The more there are, the oftener must a further one come to be
  /// recorded.
  int max_sizes = 32;
  CompileCheck check = default_compile_check();
  /// How many calls with arguments of one kind and size run the function before it is recorded for them, 1 or more; its
  /// graph is used then. kWhenItPays: it is recorded once such calls have taken twice as long as recording is expected
  /// to, and SHUNT_JIT_BUDGET allows it; and while calls are faster without a graph they run the function.
  int record_after = default_record_after();
  static constexpr int kWhenItPays = 0;
  /// What explain() and the log call it.
  std::string name = "compiled function";
};

/// What became of the calls so far.
struct CompileCounts {
  uint64_t hits = 0;         // ran a variant
  uint64_t eager = 0;        // ran the function
  uint64_t recorded = 0;     // times that the function was recorded
  uint64_t invalidated = 0;  // variants that a registration has put out of use
  uint64_t variants = 0;     // in use
  double record_ms = 0;      // that recording has taken, with what is made of it
};

namespace detail {

class ErrorsHeard;

/// What a call can be told by.
struct CompileArguments {
  InlineVector<const Tensor*, 8> tensors;  // the caller's
  InlineVector<uint64_t, 8> numbers;       // in the arguments' order, with the lengths and gaps of containers
  const std::type_info* types;
};

using CompileOutputs = InlineVector<Tensor, 4>;

/// Hashes of what a call is told by: all but sizes and strides, and those.
struct CompileKind {
  uint64_t kind = 0, sizes = 0;
};

/// The part of a compiled function that knows no types. Any thread; Note [Variants] (src/compile/variants.h).
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
  /// True: the call goes to the function without a look at its arguments: Note [Calls that pass by]
  /// (src/compile/function_state.h).
  bool passesBy() {
    const uint32_t left = passing_->load(std::memory_order_relaxed);
    if (left == 0) [[likely]]
      return false;
    passing_->store(left - 1, std::memory_order_relaxed);
    return true;
  }
  /// Takes a call's time until its end, where decide() has asked for that.
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
    int exceptions_ = 0;                // under way when it began
    const Variant* variant_ = nullptr;  // whose trial's turn it is
    CompileKind kind_;                  // of a call that found no variant
    int64_t began_ = 0;                 // ns
  };
  Decision decide(const CompileArguments& arguments, CallTimer& timer);
  /// After kRecord. Lives until the call ends: where that runs the function itself, what it throws matters.
  class SHUNT_API Attempt {
   public:
    Attempt(CompiledFunction& function, const CompileArguments& arguments);
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    /// `record` runs the function on wrappers and returns a template of its result. Null where that gave no variant
    /// that this call could run; then the function itself is to be run.
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
    bool by_function = false;  // the caller's function has been called, and what it has returned is the result
  };
  /// `function` calls the function itself and returns its tensors: where the graph throws, and for checks.
  Ran run(const Variant& variant, const CompileArguments& arguments, FunctionRef<CompileOutputs()> function);
  /// What record() had returned.
  static const void* result(const Variant& variant);

  CompileCounts counts() const;
  std::string explain() const;
  std::string explain(const CompileArguments& arguments) const;
  const Graph* graph() const;
  std::string plan() const;

 private:
  std::unique_ptr<State> state_;
  std::atomic<uint32_t>* passing_;  // the state's
};

/// A number as a guard compares it.
template <class T>
uint64_t bitsOfNumber(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  else
    return static_cast<uint64_t>(value);
}

/// Whether every part of a type is a Tensor, or a container of those.
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

/// What compile() returns: called like the function. Copies share their variants. Any thread, as long as the function
/// itself may run there.
template <class F>
class Compiled {
 public:
  Compiled(F f, CompileOptions options)
      : f_(std::move(f)), state_(std::make_shared<detail::CompiledFunction>(std::move(options))) {}

  /// Arguments: Tensors, tuples, pairs, arrays, vectors and optionals of them, numbers and enumerators. Throws what the
  /// function throws.
  template <class... Args>
  auto operator()(const Args&... args) const {
    static_assert(std::is_invocable_v<const F&, const Args&...>,
                  "compile: the function can't be called with these arguments, each a const reference, and as a const "
                  "object: it isn't mutable, takes no Tensor&, and gets the types that it names");
    using Result = std::remove_cvref_t<decltype(f_(args...))>;
    static_assert((isArgument<Args>() && ...),
                  "compile: an argument is neither a tensor nor a container of tensors nor a number, so that no guard "
                  "can compare it; capture it, or pass what it holds");
    static_assert(std::is_void_v<Result> || detail::AllTensors<Result>::value,
                  "compile: the function has to return nothing, a Tensor, or a tuple, pair, array, vector or optional "
                  "of Tensors: other values would stay as they were when it was recorded");
    if (state_->passesBy()) return f_(args...);
    const detail::CompileArguments call = callOf(args...);
    detail::CompiledFunction::CallTimer timer(*state_);
    auto decision = state_->decide(call, timer);
    if (decision.way == detail::CompiledFunction::Way::kRecord) {
      detail::CompiledFunction::Attempt attempt(*state_, call);
      const auto record = [&](detail::TraceCall& trace, const std::vector<Tensor>& wrappers) {
        return recordResult<Result>(trace, wrappers, args...);
      };
      decision.variant = attempt.record(record);
      if (decision.variant == nullptr) return f_(args...);
    }
    if (decision.variant == nullptr) return f_(args...);
    using Kept = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;
    std::optional<Kept> own;  // of the function itself
    auto ran = state_->run(*decision.variant, call, [&] { return tensorsOfResult<Result>(own, args...); });
    if constexpr (!std::is_void_v<Result>) {
      if (ran.by_function) return Result(*std::move(own));
      size_t next = 0;
      auto put = [&](const Tensor&) { return std::move(ran.outputs[next++]); };
      return detail::mapTensorsIn(*static_cast<const Result*>(detail::CompiledFunction::result(*decision.variant)),
                                  put);
    }
  }

  /// What its calls did so far.
  CompileCounts counts() const { return state_->counts(); }
  /// Text: variants with their guards, and why calls ran the function.
  std::string explain() const { return state_->explain(); }
  /// Text: what a call with these arguments would run, in the calling thread's modes, and why no graph; makes no call.
  template <class... Args>
    requires(sizeof...(Args) > 0)
  std::string explain(const Args&... args) const {
    return state_->explain(callOf(args...));
  }
  /// The graph of the variant that was made or run last; null where there is none. Good as long as a copy of this
  /// lives.
  const Graph* graph() const { return state_->graph(); }
  /// How that graph is run, as text.
  std::string plan() const { return state_->plan(); }

 private:
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
      out.tensors.push_back(&value);  // undefined ones, too
    else if constexpr (detail::TensorsIn<T>::kAny)
      collectInside(value, out);
    else
      out.numbers.push_back(detail::bitsOfNumber(value));
  }
  /// In the order of TensorsIn::map, which would make the containers anew.
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
  /// Runs the function on wrappers, notes its outputs, and returns its result with a tensor in the place of each.
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

/// See Note [Compiled functions].
template <class F>
Compiled<std::decay_t<F>> compile(F&& f, CompileOptions options = {}) {
  return Compiled<std::decay_t<F>>(std::forward<F>(f), std::move(options));
}

}  // namespace shunt
