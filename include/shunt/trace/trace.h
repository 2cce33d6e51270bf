// trace(): runs a function once and records the operators that it calls as a Graph (graph.h).
//
//   Graph step = shunt::trace([&](const Tensor& x, const Tensor& y) {
//     Tensor loss = shunt::mse_loss(model(x), y);
//     loss.backward();                                // recorded: its formulas call operators
//     NoGradGuard no_grad;
//     w.sub_(w.grad() * 0.1);                         // w, captured, is a constant of the graph
//     return loss;
//   }, std::tuple{x, y});
//
// A trace records one thread, the caller's. Several threads may trace at once.
//
// Note [Tracing]
// The function gets wrappers (key Tracer). Each holds a tensor: the real one, so that all effects happen, or, with
// TraceOptions::fake, one without elements, so that the trace has no effects.
//   - An operator that is called with a wrapper, or anywhere on this thread during the trace, is recorded as it was
//     called. It runs below on the tensors that the wrappers hold, where Autograd records its graph.
//   - Backward formulas run on these tensors too, which are known by identity. A plain tensor that isn't known is
//     captured as a constant.
//   - Only operators are recorded. C++ numbers and branches are those of the traced run, sizes are fixed, and
//     manual_seed() isn't seen.
//   - These throw: numbers of a traced tensor (item(), conversion to a C++ value, data_ptr()), a dispatch mode that the
//     function enters, a trace() in a trace().
//   - A wrapper that outlives its trace is dead: using it throws.
//   - However the function ends, the thread's state is restored.
#pragma once

#include <shunt/trace/graph.h>
#include <shunt/transforms/functionalize.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shunt {
namespace autocast {
class CastCacheAside;
}

/// Options of trace().
struct TraceOptions {
  /// Returns Graph::functionalized() of the recorded graph.
  bool functionalize = false;
  /// Runs the function on fake tensors: nothing is computed, and captured tensors aren't written.
  bool fake = false;
};

/// Whether `t` is a wrapper that trace() made.
inline bool is_traced(const Tensor& t) { return t.defined() && t.key_set().has(Functionality::Tracer); }

namespace detail {

class Recording;

/// One call of trace(). For the thread that made it.
class SHUNT_API TraceCall {
 public:
  explicit TraceCall(const TraceOptions& options);
  ~TraceCall();
  TraceCall(const TraceCall&) = delete;
  TraceCall& operator=(const TraceCall&) = delete;
  /// The wrapper of an input.
  Tensor input(const Tensor& t);
  /// While it lives, operators on this thread are recorded.
  class SHUNT_API Scope {
   public:
    explicit Scope(TraceCall& call);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    TraceCall& call_;
    uint64_t included_;
    std::unique_ptr<autocast::CastCacheAside> casts_;  // else cached casts would become constants of the graph
  };
  /// Notes a result of the function. Call it inside the scope.
  void output(const Tensor& t);
  /// A tensor that stands for others. Making it is not recorded.
  static Tensor placeholder();
  Graph finish();

 private:
  friend struct TracedResults;
  TraceOptions options_;
  intrusive_ptr<intrusive_ptr_target> recording_;
  std::vector<Tensor> results_;  // the tensors behind the outputs
  Recording& recording() const;
};

template <class F, class In>
struct TakesParts : std::false_type {};
template <class F, class... Parts>
struct TakesParts<F, std::tuple<Parts...>> : std::is_invocable<F&, const Parts&...> {};
template <class F, class A, class B>
struct TakesParts<F, std::pair<A, B>> : std::is_invocable<F&, const A&, const B&> {};

// The parts first: functions that vmap and grad return accept any argument types, so is_invocable can't decide.
template <class F, class In>
decltype(auto) callTraced(F& f, const In& inputs) {
  if constexpr (TakesParts<F, In>::value)
    return std::apply(f, inputs);
  else if constexpr (std::is_invocable_v<F&, const In&>)
    return f(inputs);
  else
    return std::apply(f, inputs);
}

}  // namespace detail

/// Runs f(inputs) once, or f(inputs...) if they are a tuple, and returns the operators that it called as a graph.
/// Inputs are a Tensor, or tuples, arrays or vectors of Tensors, which may be nested. `f` returns one of these, or
/// nothing; the outputs of the graph are the defined tensors of the result, in order. Throws what `f` throws, and if
/// `f` does what can't be recorded (Note [Tracing]).
template <class F, class In>
Graph trace(F&& f, const In& inputs, const TraceOptions& options = {}) {
  static_assert(detail::TensorsIn<In>::kAny,
                "trace: expected the inputs as a Tensor, or a tuple, array or vector of Tensors");
  detail::TraceCall call(options);
  auto wrap = [&](const Tensor& t) { return call.input(t); };
  const In wrapped = detail::mapTensorsIn(inputs, wrap);
  {
    const detail::TraceCall::Scope on(call);
    using Result = std::remove_cvref_t<decltype(detail::callTraced(f, wrapped))>;
    if constexpr (std::is_void_v<Result>) {
      detail::callTraced(f, wrapped);
    } else {
      static_assert(detail::TensorsIn<Result>::kAny,
                    "trace: the function returns something else than tensors; return a Tensor, or a tuple, array or "
                    "vector of Tensors");
      auto note = [&](const Tensor& t) {
        call.output(t);
        return t;
      };
      const Result result = detail::callTraced(f, wrapped);
      detail::mapTensorsIn(result, note);
    }
  }
  return call.finish();
}

}  // namespace shunt
