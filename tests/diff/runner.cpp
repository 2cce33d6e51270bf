#include "tests/diff/runner.h"

#include "tests/parity/draft.h"
#include "tests/parity/shunt_api.h"

#include <shunt/jit/jit.h>

namespace parity {

// Boxed, hence interpreted.
Outcome runModel(const Case& c) { return runShunt(c); }

}  // namespace parity

namespace diff {
namespace {

struct Probe {
  Form form;
  RunResult* result;
};
thread_local Probe probe;

struct TypedApi : parity::ShuntApi {
  static void callBoxed(const std::string& name, const std::string& overload, Stack& stack) {
    const TypedCall call = typedCall(name, overload);
    if (call.run == nullptr) throw std::logic_error(name + "." + overload + " has no typed entry");
    std::optional<shunt::AutocastGuard> autocast;
    if (probe.form == Form::kAutocast) autocast.emplace(shunt::kCPU);
    const auto handle = shunt::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
    probe.result->pair = pairOf(*call.op, handle.schema(), stack);
    probe.result->had_thunk = thunkOf(*call.op, probe.result->pair) != nullptr;
    const Counting counting;
    call.run(&stack);
  }

  // Also where the call throws.
  struct Counting {
    uint64_t before = shunt::jit::calls_in_thunks();
    ~Counting() { probe.result->calls_in_thunks = shunt::jit::calls_in_thunks() - before; }
  };
};

}  // namespace

const char* toString(Form form) {
  switch (form) {
    case Form::kPlain:
      return "plain";
    case Form::kGrad:
      return "grad";
    case Form::kAutocast:
      return "autocast";
  }
  return "?";
}

RunResult run(const parity::Case& c, Form form) {
  RunResult result;
  probe = {form, &result};
  shunt::manual_seed(c.gradient_seed);
  result.outcome = parity::Executor<TypedApi>(c).run();
  return result;
}

}  // namespace diff
