// Meta works out what the CPU would: dtypes, sizes, strides, aliases and errors of drawn calls of every operator.
#include "tests/meta/twin.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/shunt_api.h"
#include "tests/parity/snippet.h"
#include "tests/support/seed.h"

#include <shunt/core/log.h>

#include <gtest/gtest.h>

namespace parity {

Outcome runModel(const Case& c) { return runShunt(c); }

}  // namespace parity

namespace meta {
namespace {

const int kCasesOfDtype = shunt::test::longRun() ? 12 : 4;
constexpr int kFailuresShown = 4;
constexpr uint64_t kSeed = 20779;

thread_local Comparison last;

struct BothApi : parity::ShuntApi {
  static void callBoxed(const std::string& name, const std::string& overload, Stack& stack) {
    last = {};
    last = callBoth(shunt::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()), stack);
    if (last.verdict != Verdict::kBothRan) throw std::runtime_error("no results to look at");
  }
};

struct Tally {
  int agreed = 0, cases = 0, failures = 0;  // agreed: without an error on both, or where elements decide
};

/// A mask chooses as many elements as it has that are true, which Meta can't know.
bool hasMask(const parity::Case& c) {
  for (const parity::Value& v : c.args) {
    if (v.kind != parity::Value::Kind::kOptionalTensorList) continue;
    for (const int64_t i : v.ints) {
      const int dtype = i < 0 ? 4 : c.storages[static_cast<size_t>(c.tensors[static_cast<size_t>(i)].storage)].dtype;
      if (dtype == 0 || dtype == 11) return true;
    }
  }
  return false;
}

Tally compareOperator(const shunt::FunctionSchema& schema) {
  Tally tally;
  parity::Rng rng(parity::hashOf(schema.operator_name().str(), shunt::test::seedOfComparison(kSeed)));
  for (const int dtype : parity::allDtypes()) {
    for (int i = 0; i < kCasesOfDtype; ++i) {
      const parity::Case c = parity::drawCase(schema, dtype, false, i == 0, rng.next());
      if (hasMask(c)) continue;
      parity::Executor<BothApi>(c).run();
      ++tally.cases;
      tally.agreed += last.verdict == Verdict::kBothRan || last.verdict == Verdict::kDataDecided;
      if (last.verdict != Verdict::kDisagree) continue;
      if (++tally.failures <= kFailuresShown)
        ADD_FAILURE() << schema.operator_name().str() << " of " << parity::dtypeName(dtype) << "\nCPU: " << last.cpu
                      << "\nMeta: " << last.meta << '\n'
                      << parity::snippetOf(c, schema);
    }
  }
  return tally;
}

TEST(Meta, AgreesWithTheCpu) {
  shunt::set_log_sink([](shunt::LogLevel, const char*) {});  // warnings of out= tensors that were resized
  std::cout << "SHUNT_TEST_SEED=" << shunt::test::seedOfComparison(kSeed) << std::endl;
  int cases = 0, operators = 0;
  for (const shunt::OperatorName& name : shunt::Dispatcher::singleton().getAllOpNames()) {
    const auto op = shunt::Dispatcher::singleton().findSchema(name);
    if (!op || name.name.rfind("aten::", 0) != 0) continue;
    if (name.name == "aten::_local_scalar_dense") continue;  // item(): there is nothing to read
    // Their sizes are not known.
    if (name.name == "aten::nonzero" || name.name == "aten::masked_select" || name.str() == "aten::where") continue;
    const Tally tally = compareOperator(op->schema());
    EXPECT_GT(tally.agreed, 0) << name.str() << ": no case ran on both";
    cases += tally.cases;
    ++operators;
  }
  EXPECT_GT(operators, 300);
  std::cout << operators << " operators, " << cases << " cases\n";
}

TEST(Meta, TrainsAStepWithoutData) {
  const shunt::TensorOptions on_meta = shunt::TensorOptions().device(shunt::kMeta);
  shunt::Tensor weight = shunt::empty({10, 64}, on_meta);
  shunt::Tensor bias = shunt::empty({10}, on_meta);
  weight.requires_grad_();
  bias.requires_grad_();
  const shunt::Tensor input = shunt::randn({32, 64}, on_meta);
  const shunt::Tensor target = shunt::zeros({32}, on_meta.dtype(shunt::kLong));
  const shunt::Tensor loss = shunt::cross_entropy_loss(shunt::gelu(shunt::linear(input, weight, bias)), target);
  EXPECT_EQ(loss.dim(), 0);
  loss.backward();
  EXPECT_TRUE(weight.grad().is_meta());
  EXPECT_EQ(weight.grad().sizes(), weight.sizes());
  EXPECT_EQ(bias.grad().sizes(), bias.sizes());
}

TEST(Meta, HasNoNumbers) {
  const shunt::Tensor sum = shunt::ones({3}, shunt::TensorOptions().device(shunt::kMeta)).sum();
  try {
    sum.item();
    FAIL() << "a number from nowhere";
  } catch (const shunt::Error& e) {
    EXPECT_STREQ(e.what(), "item(): the tensor is on device meta, which has no numbers");
  }
}

}  // namespace
}  // namespace meta
