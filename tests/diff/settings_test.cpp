// Every setting of the table (src/core/settings.h), changed while thunks are hot: results stay the interpreter's, bit
// by bit, and what is invalidated is what the setting's kind says. A setting without a row in changing() doesn't
// compile.
#include "src/core/settings.h"
#include "tests/diff/thunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>

namespace diff {
namespace {

using namespace shunt;
using testing::HasSubstr;

struct PassOn : DispatchMode {
  explicit PassOn(Level level) : level_(level) {}
  Level level() const override { return level_; }
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }

 private:
  Level level_;
};

template <class T, class... A>
std::shared_ptr<void> during(A&&... a) {
  return std::make_shared<T>(std::forward<A>(a)...);
}

/// What lasts as long as a value.
struct Restoring {
  std::function<void()> restore;
  explicit Restoring(std::function<void()> r) : restore(std::move(r)) {}
  ~Restoring() { restore(); }
};

/// Another value of the setting, until what is returned goes.
std::shared_ptr<void> changing(Setting setting) {
  switch (setting) {
    case Setting::kGradMode:
      return during<NoGradGuard>();
    case Setting::kInferenceMode:
      return during<InferenceMode>();
    case Setting::kExcludedKeys:
      return during<ExcludeDispatchKeyGuard>(DispatchKey::AutogradCPU);
    case Setting::kIncludedKeys:
      return during<IncludeDispatchKeyGuard>(DispatchKey::CustomRNGKeyId);
    case Setting::kAutocast:
      return during<AutocastGuard>(kCPU, kBFloat16, false);
    case Setting::kDispatchModes:
    case Setting::kKernelModes: {
      const auto level = setting == Setting::kDispatchModes ? DispatchMode::Level::kCall : DispatchMode::Level::kKernel;
      auto mode = std::make_shared<PassOn>(level);
      auto guard = std::make_shared<DispatchModeGuard>(*mode);
      return during<Restoring>([mode, guard]() mutable { guard.reset(); });
    }
    case Setting::kAutocastDtype:
      return during<AutocastGuard>(kCPU, kHalf);
    case Setting::kAutocastCache:
      return during<AutocastGuard>(kCPU, kBFloat16, true, false);
    case Setting::kDefaultGenerator:
      manual_seed(12345);
      return nullptr;
    case Setting::kNumThreads: {
      const int before = get_num_threads();
      set_num_threads(before + 1);
      return during<Restoring>([before] { set_num_threads(before); });
    }
    case Setting::kTrace:
      set_trace(true, [](const TraceStep&) {});
      return during<Restoring>([] { set_trace(false); });
    case Setting::kDefaultDtype:
      set_default_dtype(kDouble);
      return during<Restoring>([] { set_default_dtype(kFloat); });
  }
  return nullptr;
}

/// An outcome as text: dtype, graph and a hash of its bits, or the error.
std::string outcome(const std::function<Tensor()>& call) {
  try {
    const Tensor t = call();
    const Tensor dense = t.contiguous();
    const std::string_view bytes(static_cast<const char*>(dense.data_ptr()), static_cast<size_t>(dense.nbytes()));
    return detail::str(t.dtype(), t.requires_grad() ? " grad " : " ", t.numel(), " elements, ",
                       std::hash<std::string_view>()(bytes));
  } catch (const Error& e) {
    return e.what();
  }
}

class Settings : public testing::TestWithParam<SettingInfo> {
 protected:
  void SetUp() override {
    through.fallback(CppFunction::makeFallthrough());
    jit::clear();
    for (int i = 0; i < 3; ++i) results();
  }
  void TearDown() override { jit::clear(); }

  /// Of calls that read the settings and of some that don't.
  std::vector<std::string> results() {
    const AutocastGuard autocast(kCPU);  // of mm, whose operands it casts
    const std::vector<std::function<Tensor()>> calls = {
        [&] { return ints.sqrt(); },
        [&] { return ints.div(odd); },
        [&] { return ints.sin(); },
        [&] { return ints.sigmoid(); },
        [&] { return ints.mul(2.5); },
        [&] { return ints.add(odd); },
        [&] { return shunt::reciprocal(odd); },
        [&] { return floats.add(floats); },
        [&] { return leaf.mul(floats); },
        [&] { return leaf.exp(); },
        [&] { return floats.sum(); },
        [&] { return ints.sum(); },
        [&] { return square.mm(square); },
        [&] { return shunt::linear(square, square); },
        [&] { return shunt::rand_like(floats).add(floats); },
        [&] { return shunt::pow(2.5, odd); },
        [&] { return large.add(large).exp(); },
        [&] { return shunt::arange(8).add(shunt::ones({8})); },
        [&] { return shunt::where(ints.gt(3), ints.sqrt(), odd.sqrt()); },
    };
    std::vector<std::string> out;
    for (const auto& call : calls) out.push_back(outcome(call));
    return out;
  }
  std::vector<std::string> interpretedUnder(Setting setting) {
    jit::set_enabled(false);
    manual_seed(1);
    auto change = changing(setting);
    const auto out = results();
    change.reset();
    jit::set_enabled(true);
    return out;
  }
  static std::set<ThunkName> relyingOnSetting(Setting setting) {
    std::set<ThunkName> all;
    for (const auto& t : jit::publishedThunks())
      for (const jit::Edge& e : t->edges)
        if (e.op == nullptr && e.slot == static_cast<int>(setting)) all.insert(nameOf(*t));
    return all;
  }

  Library through{Library::Kind::kImpl, "_", DispatchKey::CustomRNGKeyId};
  Tensor ints = arange(16, kLong), odd = arange(16, kLong).mul(2).add(1), floats = arange(16, kFloat);
  Tensor square = arange(16, kFloat).reshape({4, 4}).clone(), leaf = arange(16, kFloat).requires_grad_();
  Tensor large = arange(40'000, kFloat).mul(1e-4);
};

TEST_P(Settings, AChangeIsInForceAtOnceAndInvalidatesWhatItsKindSays) {
  const SettingInfo& info = GetParam();
  const Published before = published();
  ASSERT_GT(before.size(), 12u) << jit::statsTable();
  const std::set<ThunkName> relying = relyingOnSetting(info.setting);
  const size_t logged = jit::invalidation_log().size();
  manual_seed(1);
  auto change = changing(info.setting);
  const std::set<ThunkName> invalid = gone(before);
  const auto log = logSince(logged);
  const auto first = results();
  for (int i = 0; i < 2; ++i) results();  // compiled anew
  manual_seed(1);
  if (info.setting == Setting::kDefaultGenerator) changing(info.setting);
  const auto hot = results();
  const uint64_t thunks = jit::calls_in_thunks();
  change.reset();
  EXPECT_EQ(invalid, relying) << "others must stay";
  EXPECT_EQ(log.size(), relying.size());
  if (info.kind == SettingKind::kProcessWide) {
    EXPECT_FALSE(relying.empty()) << "no thunk relies on it, so nothing was tested";
    for (const auto& r : log) EXPECT_THAT(r.cause, HasSubstr(std::string("setting ") + info.name + " changed to "));
    EXPECT_LT(relying.size(), before.size() / 2) << "those that never read it too";
  } else {
    EXPECT_TRUE(relying.empty());
  }
  const auto after = results();  // under the old value again, by thunks of now
  EXPECT_GT(jit::calls_in_thunks(), thunks);
  const auto expected = interpretedUnder(info.setting);
  EXPECT_EQ(first, expected) << "at once";
  EXPECT_EQ(hot, expected) << "compiled under it";
  jit::clear();
  jit::set_enabled(false);
  auto plain = results();
  jit::set_enabled(true);
  plain[14] = after[14];  // random numbers, of another place in the sequence
  EXPECT_EQ(after, plain) << "changed back";
}

std::string settingName(const testing::TestParamInfo<SettingInfo>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Table, Settings, testing::ValuesIn(kSettings), settingName);

TEST(SettingsOfOtherThreads, ACallAfterTheChangeSeesIt) {
  jit::clear();
  const Tensor x = arange(16, kLong);
  std::atomic<int> changes{0};  // odd: one is under way; counted before and after
  std::atomic<bool> stop{false}, wrong{false};
  std::atomic<int> seen{0};
  std::thread caller([&] {
    while (!stop) {
      const int begun = changes.load();
      const ScalarType type = x.sqrt().scalar_type();
      if (changes.load() == begun && begun % 2 == 0 && type != (begun % 4 == 0 ? kFloat : kDouble)) wrong = true;
      seen.fetch_add(1);
    }
  });
  for (int round = 0; round < 100; ++round) {
    if (round % 4 == 0) jit::clear();  // else the pair would wait longer after each change
    for (const int from = seen.load(); seen.load() < from + 5;) std::this_thread::yield();
    changes.fetch_add(1);
    set_default_dtype(round % 2 == 0 ? kDouble : kFloat);
    changes.fetch_add(1);
  }
  stop = true;
  caller.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace diff
