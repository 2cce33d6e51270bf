// A boxed fallback that redispatches is invisible: every operator of the dictionary gives the same results through it,
// bit for bit, with `Tensor&` results the very arguments they were before.
//
// The operators are called by their typed entries, so a call goes unboxed -> boxed (fallback) -> unboxed (kernel) and
// back; operators called inside composites do it too.
#include "tests/diff/identical.h"
#include "tests/diff/typed_calls.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/shunt_api.h"
#include "tests/parity/snippet.h"

#include <shunt/core/library.h>
#include <shunt/core/log.h>

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace shunt {
namespace {

constexpr DispatchKey kKey = DispatchKey::Tracer;
constexpr int kCasesOfAForm = 12;

thread_local bool through_fallback = false;

struct TypedApi : parity::ShuntApi {
  static void callBoxed(const std::string& name, const std::string& overload, Stack& stack) {
    std::optional<IncludeDispatchKeyGuard> guard;
    if (through_fallback) guard.emplace(kKey);
    diff::typedCall(name, overload).run(&stack);
  }
};

parity::Outcome run(const parity::Case& c, bool boxed) {
  through_fallback = boxed;
  manual_seed(c.gradient_seed);
  return parity::Executor<TypedApi>(c).run();
}

bool hasTensorInput(const FunctionSchema& schema) {
  for (const Argument& a : schema.arguments())
    if (a.type.kind == TypeKind::Tensor && !a.is_out()) return true;
  return false;
}

/// Uninitialised memory is nobody's to compare.
bool hasValues(const FunctionSchema& schema) {
  const std::string_view name = parity::baseName(schema.name());
  return name.find("empty") == std::string_view::npos && !name.starts_with("resize");
}

class BoxedRoundTrip : public testing::Test {
 protected:
  BoxedRoundTrip() {
    fallback_.fallback(CppFunction::makeFromBoxed([this](const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
      ++calls_[op.operator_name().str()];
      op.redispatchBoxed(ks & DispatchKeySet::fullAfter(kKey), stack);
    }));
  }

  void tryOperator(const FunctionSchema& schema) {
    const std::string name = schema.operator_name().str();
    parity::Rng rng(parity::hashOf(name, 20241120));
    const bool no_grad_form = schema.isOut() || !hasTensorInput(schema) ||
                              (parity::ruleFor(schema.name(), schema.overload_name()).flags & parity::kNoGradForm) != 0;
    for (const bool grad : {false, true}) {
      if (grad && no_grad_form) continue;
      for (int i = 0; i < kCasesOfAForm; ++i) {
        std::vector<int> dtypes = parity::allDtypes();
        if (grad) std::erase_if(dtypes, [](int d) { return !parity::isFloating(d); });
        rng.shuffle(dtypes);
        const parity::Case c = parity::drawCase(schema, dtypes[0], grad, i < kCasesOfAForm / 2, rng.next());
        const parity::Outcome plain = run(c, false), boxed = run(c, true);
        succeeded_.insert(boxed.threw ? "" : name);
        const std::string difference = diff::firstDifference(plain, boxed, hasValues(schema));
        EXPECT_EQ(difference, "") << name << '\n' << parity::snippetOf(c, schema);
        if (!difference.empty()) return;
      }
    }
  }

  Library fallback_{Library::Kind::kImpl, "_", kKey};
  std::map<std::string, int> calls_;
  std::set<std::string> succeeded_;
};

TEST_F(BoxedRoundTrip, OfEveryOperatorOfTheDictionary) {
  set_log_sink([](LogLevel, const char*) {});  // out= tensors of unfitting sizes are meant
  size_t operators = 0;
  for (const OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    if (diff::typedCall(name.name, name.overload_name).run == nullptr) continue;
    ++operators;
    tryOperator(Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str()).schema());
    EXPECT_GE(calls_[name.str()], 1) << name << " went past the fallback";
    const bool rarely = (parity::ruleFor(name.name, name.overload_name).flags & parity::kRarelyRuns) != 0;
    EXPECT_TRUE(rarely || succeeded_.contains(name.str())) << name << ": every case threw";
  }
  EXPECT_GE(operators, 400u);
}

}  // namespace
}  // namespace shunt
