// What the parity test's comparison would miss: takes Shunt's outcomes of drawn cases, makes every finite element of
// the results, or of the gradients, a little too large, and counts the cases in which compareOutcomes says nothing.
#include "tests/parity/case.h"
#include "tests/parity/compare.h"
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/rules.h"
#include "tests/support/seed.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/log.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace parity {

Outcome runModel(const Case& c) { return runShunt(c); }

namespace {

constexpr int kFloat32 = 6, kBFloat16 = 15;
constexpr double kMayBeMissed = 0.02;
constexpr uint64_t kSeed = 20779;

struct Count {
  int cases = 0, missed = 0;
};
struct Counts {
  Count results, gradients;
  std::map<std::string, Count> by_operator;
};

/// False where no element changes: they are zeros, not finite, or of no floating-point dtype.
bool enlarge(TensorState& t, double factor) {
  if (!t.defined || !isFloating(t.dtype)) return false;
  bool changed = false;
  const size_t item = itemSize(t.dtype);
  for (size_t at = 0; at < t.bytes.size(); at += item) {
    const double was = loadElement(t.dtype, &t.bytes[at]);
    std::vector<uint8_t> larger(item);
    storeElement(t.dtype, was * factor, larger.data());
    if (!std::isfinite(loadElement(t.dtype, larger.data())) || std::equal(larger.begin(), larger.end(), &t.bytes[at]))
      continue;
    std::ranges::copy(larger, &t.bytes[at]);
    changed = true;
  }
  return changed;
}

void look(const Case& c, const Outcome& good, const Outcome& wrong, Count& count, Count& of_operator) {
  const bool seen = std::ranges::any_of(compareOutcomes(c, good, wrong),
                                        [](const Difference& d) { return d.what.ends_with("values"); });
  for (Count* k : {&count, &of_operator}) {
    ++k->cases;
    k->missed += !seen;
  }
}

void tryCase(const Case& c, double factor, Counts& counts) {
  const Outcome good = runShunt(c);
  if (good.threw || good.backward_threw) return;
  Count& of_operator = counts.by_operator[std::string(baseName(c.name))];
  Outcome results = good, gradients = good;
  bool changed = false;
  for (Returned& r : results.returns)
    for (TensorState& t : r.tensors) changed |= enlarge(t, factor);
  if (changed) look(c, good, results, counts.results, of_operator);
  changed = false;
  for (TensorState& t : gradients.grads) changed |= enlarge(t, factor);
  if (changed) look(c, good, gradients, counts.gradients, of_operator);
}

Counts countMissed(int dtype, double factor, int rounds) {
  Counts counts;
  for (const shunt::OperatorName& name : shunt::Dispatcher::singleton().getAllOpNames()) {
    const auto op = shunt::Dispatcher::singleton().findSchema(name);
    if (!op || !name.name.starts_with("aten::")) continue;
    const shunt::FunctionSchema& schema = op->schema();
    const unsigned flags = ruleFor(schema.name(), schema.overload_name()).flags;
    if (flags & kMetadataOnly) continue;  // values are nobody's promise
    const bool tensors = std::ranges::any_of(
        schema.arguments(), [](const auto& a) { return a.type.kind == shunt::TypeKind::Tensor && !a.is_out(); });
    for (const bool grad : {false, true}) {
      if (grad && (!tensors || schema.isOut() || (flags & kNoGradForm))) continue;
      for (int round = 0; round < rounds; ++round)
        tryCase(drawCase(schema, dtype, grad, round == 0,
                         hashOf(name.str() + (grad ? "g" : "p") + std::to_string(round),
                                shunt::test::seedOfComparison(kSeed))),
                factor, counts);
    }
  }
  return counts;
}

void expectFew(int dtype, double factor) {
  shunt::set_log_sink([](shunt::LogLevel, const char*) {});  // warnings of out= tensors that were resized
  const Counts counts = countMissed(dtype, factor, shunt::test::longRun() ? 32 : 6);
  for (const auto& [what, count] : {std::pair("results", counts.results), std::pair("gradients", counts.gradients)}) {
    std::cout << "SHUNT_TEST_SEED=" << shunt::test::seedOfComparison(kSeed) << ": " << what << " of "
              << dtypeName(dtype) << ", " << factor << " times too large: " << count.missed << " of " << count.cases
              << " cases missed\n";
    EXPECT_GT(count.cases, 200) << what;
    EXPECT_LE(count.missed, kMayBeMissed * count.cases) << what;
  }
  for (const auto& [name, count] : counts.by_operator)
    if (count.missed != 0) std::cout << "  " << name << ' ' << count.missed << " of " << count.cases << '\n';
}

TEST(ParityMutation, AnErrorOfFivePercentOfFloat32IsSeen) { expectFew(kFloat32, 1.05); }
TEST(ParityMutation, AnErrorOfHalfOfBFloat16IsSeen) { expectFew(kBFloat16, 1.5); }

}  // namespace
}  // namespace parity
