// Fake tensors have what the CPU's would: dtypes, sizes, strides, aliases, graphs, gradients' shapes and errors of
// drawn calls of every operator.
#include "tests/meta/described_call.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/rules.h"
#include "tests/parity/shunt_api.h"
#include "tests/parity/snippet.h"
#include "tests/support/seed.h"

#include <shunt/core/log.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/transforms/fake_tensor.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace parity {

Outcome runModel(const Case& c) { return runShunt(c); }

}  // namespace parity

namespace fake {
namespace {

using meta::DescribedCall;
using shunt::Stack;
using shunt::Tensor;

const int kCasesOfDtype = shunt::test::longRun() ? 8 : 2;  // and as many with tensors that require grad
constexpr int kFailuresShown = 3;
constexpr uint64_t kSeed = 20779;

enum class Verdict : uint8_t { kBothRan, kBothThrew, kDataDecided, kDisagree };

struct Comparison {
  Verdict verdict = Verdict::kDisagree;
  std::string cpu, fake;
};

bool asksForElements(const std::string& message) {
  return message.find("data-dependent operator on fake tensors") != std::string::npos;
}

std::string gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> roots, seeds;
  for (const Tensor& t : outputs)
    if (t.defined() && t.requires_grad() && t.is_floating_point()) {
      roots.push_back(t);
      seeds.push_back(shunt::ones_like(t));
    }
  if (roots.empty() || inputs.empty()) return "";
  std::ostringstream text;
  try {
    for (const Tensor& g : shunt::autograd::grad(roots, inputs, seeds, std::nullopt, false, true)) {
      text << "\n  gradient";
      if (g.defined()) text << meta::shapeOf(g);
    }
  } catch (const std::exception& e) {
    text << "\n  gradient: " << e.what();
  }
  return std::move(text).str();
}

DescribedCall describe(const shunt::OperatorHandle& op, Stack& stack) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : meta::tensorsOf(stack))
    if (t.defined() && t.requires_grad() && !op.schema().is_mutable()) inputs.push_back(t);
  DescribedCall call = meta::describeCall(op, stack, shunt::kCPU);
  if (!call.threw) call.text += gradients(meta::tensorsOf(stack), inputs);
  return call;
}

Comparison callBoth(const shunt::OperatorHandle& op, Stack& stack, bool in_mode) {
  shunt::FakeTensorConverter converter;
  Stack fakes = stack;
  shunt::mapTensors(fakes, fakes.size(), [&](const Tensor& t) { return converter.from_tensor(t); });
  std::optional<shunt::FakeTensorMode> mode;
  if (in_mode || meta::tensorsOf(stack).empty()) mode.emplace();
  const DescribedCall fake = describe(op, fakes);
  for (const Tensor& t : meta::tensorsOf(fakes))
    if (!fake.threw && t.defined() && !shunt::is_fake(t))
      return {Verdict::kDisagree, "", "a result is not fake" + fake.text};
  mode.reset();
  const DescribedCall real = describe(op, stack);
  Comparison c{Verdict::kDisagree, real.text, fake.text};
  if (real.threw == fake.threw && real.text == fake.text)
    c.verdict = real.threw ? Verdict::kBothThrew : Verdict::kBothRan;
  else if ((fake.threw && asksForElements(fake.text)) || (real.threw && meta::isAboutElements(real.text)))
    c.verdict = Verdict::kDataDecided;
  return c;
}

thread_local Comparison last;
thread_local bool in_mode;

struct BothApi : parity::ShuntApi {
  static void callBoxed(const std::string& name, const std::string& overload, Stack& stack) {
    last = {};
    last = callBoth(shunt::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()), stack, in_mode);
    throw std::runtime_error("the results have been looked at");
  }
};

/// Operators for which a fake tensor may answer otherwise than a real one because elements decide. Every line has its
/// reason.
class DataDecided {
 public:
  DataDecided() {
    std::ifstream file(FAKE_DATA_DECIDED);
    EXPECT_TRUE(file.good()) << FAKE_DATA_DECIDED;
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#') patterns_.push_back(line.substr(0, line.find(' ')));
    EXPECT_FALSE(patterns_.empty());
  }
  bool covers(const std::string& op) const {
    return std::ranges::any_of(patterns_, [&](const std::string& p) { return parity::globMatches(p, op); });
  }

 private:
  std::vector<std::string> patterns_;
};

struct Tally {
  int agreed = 0, cases = 0, failures = 0;  // agreed: without an error on both, or where elements decide
};

Tally compareOperator(const shunt::FunctionSchema& schema) {
  static const DataDecided data_decided;
  Tally tally;
  parity::Rng rng(parity::hashOf(schema.operator_name().str(), shunt::test::seedOfComparison(kSeed)));
  for (const int dtype : parity::allDtypes()) {
    for (int i = 0; i < 2 * kCasesOfDtype; ++i) {
      const bool with_grad = i >= kCasesOfDtype;
      const parity::Case c = parity::drawCase(schema, dtype, with_grad, i == 0, rng.next());
      in_mode = i % 2 != 0;
      parity::Executor<BothApi>(c).run();
      ++tally.cases;
      tally.agreed += last.verdict == Verdict::kBothRan || last.verdict == Verdict::kDataDecided;
      if (last.verdict == Verdict::kDataDecided && !data_decided.covers(schema.operator_name().str().substr(6)))
        last.verdict = Verdict::kDisagree;
      if (last.verdict != Verdict::kDisagree) continue;
      if (++tally.failures <= kFailuresShown)
        ADD_FAILURE() << schema.operator_name().str() << " of " << parity::dtypeName(dtype) << "\nCPU: " << last.cpu
                      << "\nfake: " << last.fake << '\n'
                      << parity::snippetOf(c, schema);
    }
  }
  return tally;
}

TEST(FakeSuite, AgreesWithTheCpu) {
  shunt::set_log_sink([](shunt::LogLevel, const char*) {});  // warnings of out= tensors that were resized
  std::cout << "SHUNT_TEST_SEED=" << shunt::test::seedOfComparison(kSeed) << std::endl;
  int cases = 0, operators = 0;
  for (const shunt::OperatorName& name : shunt::Dispatcher::singleton().getAllOpNames()) {
    const auto op = shunt::Dispatcher::singleton().findSchema(name);
    if (!op || name.name.rfind("aten::", 0) != 0) continue;
    const Tally tally = compareOperator(op->schema());
    EXPECT_GT(tally.agreed, 0) << name.str() << ": no case ran on both";
    cases += tally.cases;
    ++operators;
  }
  EXPECT_GT(operators, 300);
  std::cout << operators << " operators, " << cases << " cases\n";
}

}  // namespace
}  // namespace fake
