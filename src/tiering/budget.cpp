#include "src/tiering/budget.h"

namespace shunt::jit {
namespace {

constexpr int64_t kMicrosecond = 1000, kMillisecond = 1000 * kMicrosecond;

// As measured on a busy machine, and a part more: loading libshunt_jit.so took 5.2 ms and the first plan, which reads
// the bitcode's tables, 7.1; then a look 0.15 to 0.3, and compiles of the first tier 2.7 to 6, the first one 6 more.
// Where a machine is slower, the first step of a kind overdraws the budget once, and what it took is known from then
// on.
constexpr int64_t kLoad = 16 * kMillisecond;
constexpr int64_t kFirstCompile = 12 * kMillisecond;  // more than a later one: it reads bitcode
constexpr std::array<int64_t, kSteps> kAtFirst = {300 * kMicrosecond, 7 * kMillisecond, 15 * kMillisecond};

// A new figure's part of the mean; and what is expected is a quarter more than the mean, as figures differ.
constexpr int64_t kWeight = 4, kMargin = 4;

}  // namespace

int64_t Budget::expected(Step step) const {
  const int64_t mean = mean_[static_cast<size_t>(step)];
  int64_t cost = mean != 0 ? mean + mean / kMargin : kAtFirst[static_cast<size_t>(step)];
  if (!is_loaded_) cost += kLoad;
  if (step != Step::kLook && !is_warm_) cost += kFirstCompile;
  return cost;
}

int64_t Budget::dueAt(int64_t cost) const {
  if (isLifted()) return 0;
  if (percent_ <= 0) return kNever;
  const double due = static_cast<double>(spent_ + cost) * 100 / percent_;
  return due < static_cast<double>(kNever) ? static_cast<int64_t>(due) : kNever;
}

void Budget::spend(Step step, int64_t cost) {
  spend(cost);
  // The first of all, and the first compile, took more than others will.
  const bool is_typical = is_loaded_ && (step == Step::kLook || is_warm_);
  is_loaded_ = true;
  if (step != Step::kLook) is_warm_ = true;
  if (!is_typical) return;
  int64_t& mean = mean_[static_cast<size_t>(step)];
  mean = mean == 0 ? cost : mean + (cost - mean) / kWeight;
}

}  // namespace shunt::jit
