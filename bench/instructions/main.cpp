// bench_instructions SCENARIO with|without CALLS: makes the calls in one function, countedCalls, so that callgrind can
// count what they execute (bench/thunks/instructions.cpp). `without` passes the compiler by altogether.
#include "bench/jit_settings.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

using namespace shunt;
using Binary = Tensor(const Tensor&, const Tensor&, const Scalar&);

/// callOperator (core/op_state.h) as it would be without a compiler: no look at hot entries, nothing counted.
template <class R, class... A>
SHUNT_NOINLINE R callWithoutCompiler(const Operator& op, A... a) {
  detail::CallFrame frame(op);
  const OpState& s = frame.state(op);
  const DispatchKeySet ks = detail::effectiveKeys(s, (uint64_t{0} | ... | detail::keysOf(a)));
  if (detail::trace_enabled.load(std::memory_order_relaxed)) [[unlikely]]
    detail::traceStep("call", s, ks);
  return s.lookup(ks).template call<R, A...>(op, ks, std::forward<A>(a)...);
}

struct Calls {
  TypedOperatorHandle<Binary> op;
  Tensor a, b;
  Scalar alpha = 1;

  void make(int count) const {
    for (int i = 0; i < count; ++i) op.call(a, b, alpha);
  }
  void makeWithoutCompiler(int count) const {
    for (int i = 0; i < count; ++i)
      callWithoutCompiler<Tensor, const Tensor&, const Tensor&, const Scalar&>(op.op(), a, b, alpha);
  }
};

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("not so: ") + what);
}

bool goThroughThunks(const Calls& calls) {
  const uint64_t before = jit::calls_in_thunks();
  calls.make(10);
  return jit::calls_in_thunks() == before + 10;
}

/// Until the pair is hot and what follows is done.
void heat(const Calls& calls) {
  calls.make(50'000);
  jit::wait_idle();
}

bool isRefused(const char* op) {
  for (const jit::PairStats& p : jit::stats().pairs)
    if (p.op == op) return p.state == jit::PairState::kRefused;
  return false;
}

const OperatorHandle refusedOperator() {
  static Library library(Library::Kind::kDef, "bench");
  library.def("boxed(Tensor a, Tensor b, Scalar alpha) -> Tensor");
  library.impl(
      "boxed", DispatchKey::CPU,
      CppFunction::makeFromBoxed([](const OperatorHandle&, DispatchKeySet, Stack* stack) { stack->resize(1); }));
  return Dispatcher::singleton().findSchemaOrThrow("bench::boxed", "");
}

Calls prepare(const std::string& scenario) {
  const auto add = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor").typed<Binary>();
  const Tensor x = randn({16});
  const Calls floats{add, x, x};
  if (scenario == "refused") {
    const Calls refused{refusedOperator().typed<Binary>(), x, x};
    heat(refused);
    refused.make(50'000);  // samples get rarer
    require(!jit::enabled() || isRefused("bench::boxed"), "the pair is refused");
    return refused;
  }
  if (scenario == "cold") {
    floats.make(1'000);
    return floats;
  }
  heat(floats);
  require(!jit::enabled() || goThroughThunks(floats), "calls of floats go through a thunk");
  if (scenario == "probe_miss") return {add, x.to(kDouble), x.to(kDouble)};
  // Dense like the recorded operands, but each repeated along one dimension: the thunk's guard sends them on.
  if (scenario == "guard_miss") return {add, randn({4, 1}), randn({1, 4})};
  throw std::runtime_error("no scenario " + scenario);
}

}  // namespace

extern "C" [[gnu::noinline]] void countedCalls(const void* calls, bool without, int count) {
  const auto& c = *static_cast<const Calls*>(calls);
  without ? c.makeWithoutCompiler(count) : c.make(count);
}

int main(int argc, char** argv) try {
  bench::compileAtWill();
  if (argc != 4) throw std::runtime_error("usage: bench_instructions SCENARIO with|without CALLS");
  const NoGradGuard no_grad;
  const std::string scenario = argv[1];
  const bool without = std::string(argv[2]) == "without";
  const Calls calls = prepare(scenario);
  calls.make(100);
  const uint64_t before = jit::calls_in_thunks();
  countedCalls(&calls, without, std::atoi(argv[3]));
  const bool in_thunks = jit::calls_in_thunks() != before;
  require(in_thunks == (scenario == "guard_miss" && jit::enabled() && !without),
          "only guard misses get as far as a thunk");
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_instructions: %s\n", e.what());
  return 1;
}
