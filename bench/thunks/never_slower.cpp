// Calls that gain nothing from the compiler, against the same with SHUNT_JIT=0: two processes, in turn.
#include "bench/thunks/interleave.h"
#include "bench/thunks/many_pairs.h"
#include "bench/thunks/row.h"
#include "bench/thunks/worker.h"

#include <shunt/jit/jit.h>

#include <limits>
#include <stdexcept>

namespace bench {
namespace {

using namespace shunt;

class Cold : public Scenario {
 public:
  void run() override { add(a_, b_); }

 private:
  NoGradGuard no_grad_;
  Tensor a_ = randn({16}), b_ = randn({16});
};

/// The pair waits in the compiler's queue, behind others.
class Compiling : public Scenario {
 public:
  void beforeCalls() override {
    if (!jit::enabled()) return;
    jit::wait_idle();
    jit::clear();
    for (int i = 0; i < kCallsToGetHot; ++i) others_.callAll();
    for (int i = 0; i < 20 * kCallsToGetHot && !isQueued(i); ++i) run();
  }
  void run() override { sub(a_, b_); }
  bool held() override { return !jit::enabled() || isQueued(0); }

 private:
  static constexpr int kCallsToGetHot = 2048;
  static bool isQueued(int i) {
    if (i % 16 != 0) return false;  // asking costs more than a call
    for (const jit::PairStats& p : jit::stats().pairs)
      if (p.op == "aten::sub.Tensor") return p.state == jit::PairState::kQueued;
    return false;
  }
  ManyPairs others_{20};
  Tensor a_ = randn({16}), b_ = randn({16});
};

/// Ten dtypes and layouts in turn.
class Megamorphic : public Scenario {
 public:
  Megamorphic() {
    for (const ScalarType dtype : {kFloat, kDouble, kLong, kInt, kBFloat16}) {
      const Tensor x = arange(16, TensorOptions(kFloat)).reshape({4, 4}).to(dtype);
      operands_.push_back(x);
      operands_.push_back(x.t());
    }
    for (int i = 0; i < 200'000; ++i) run();
    jit::wait_idle();
    for (int i = 0; i < 200'000; ++i) run();
  }
  void run() override {
    const Tensor& x = operands_[next_];
    next_ = next_ + 1 == operands_.size() ? 0 : next_ + 1;
    mul(x, x);
  }

 private:
  NoGradGuard no_grad_;
  std::vector<Tensor> operands_;
  size_t next_ = 0;
};

constexpr size_t kLiveThunks = 1000;

/// An exception that has nothing to do with Shunt, through a few frames.
class Throwing : public Scenario {
 public:
  explicit Throwing(size_t thunks) : pairs_(thunks) {
    pairs_.callAll();
    if (const size_t live = compiledPairs(); live < thunks)
      throw std::runtime_error("only " + std::to_string(live) + " thunks are live, of " + std::to_string(thunks));
  }
  void run() override {
    try {
      throwBelow(4);
    } catch (const std::runtime_error&) {
    }
  }

 private:
  [[gnu::noinline]] static void throwBelow(int frames) {
    if (frames == 0) throw std::runtime_error("unrelated");
    throwBelow(frames - 1);
    asm volatile("" : : : "memory");  // no tail call
  }
  ManyPairs pairs_;
};

struct NeverSlowerBar {
  const char* what;
  const char *scenario, *against;
  Settings settings, settings_against;
  int64_t calls;
  int rounds;
  double most;
};

const Settings kInterpreted = {{"SHUNT_JIT", "0"}};
const Settings kAtOnce = {{"SHUNT_JIT_SYNC", "1"}, {"SHUNT_JIT_THRESHOLD", "1"}, {"SHUNT_JIT_CACHE", "off"}};

const NeverSlowerBar kBars[] = {
    {"cold calls against SHUNT_JIT=0",
     "cold",
     "cold",
     {{"SHUNT_JIT_THRESHOLD", "1000000000"}},
     kInterpreted,
     20'000,
     101,
     1.05},
    {"calls while their pair is compiled against SHUNT_JIT=0",
     "compiling",
     "compiling",
     {{"SHUNT_JIT_CACHE", "off"}, {"SHUNT_JIT_GDB", "1"}},  // with which no code of an earlier round is linked again
     kInterpreted,
     20'000,
     31,
     1.05},
    {"10 dtypes and layouts in turn against SHUNT_JIT=0",
     "megamorphic",
     "megamorphic",
     {},
     kInterpreted,
     20'000,
     101,
     1.05},
    {"an unrelated exception, 1,000 live thunks against none", "throwing", "throwing_alone", kAtOnce, kAtOnce, 1'000,
     101, 1.3},
};

}  // namespace

std::unique_ptr<Scenario> makeScenario(const std::string& name) {
  if (name == "cold") return std::make_unique<Cold>();
  if (name == "compiling") return std::make_unique<Compiling>();
  if (name == "megamorphic") return std::make_unique<Megamorphic>();
  if (name == "throwing") return std::make_unique<Throwing>(kLiveThunks);
  if (name == "throwing_alone") return std::make_unique<Throwing>(0);
  throw std::runtime_error("no scenario " + name);
}

void neverSlowerBars() {
  for (const NeverSlowerBar& bar : kBars) {
    if (!wanted(bar.what)) continue;
    Worker first(bar.scenario, bar.settings), second(bar.against, bar.settings_against);
    printRow([&]() -> Row {
      const Comparison c = alternate(
          bar.rounds, bar.calls, bar.calls, [&](int64_t n) { return first.timeCalls(n); },
          [&](int64_t n) { return second.timeCalls(n); });
      return {bar.what, c.ratio, bar.most, timesOf(c)};
    });
  }
}

}  // namespace bench
