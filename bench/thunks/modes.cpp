// What a dispatch mode that does nothing adds to a call: the same call with and without it, in turn, both interpreted.
#include "bench/thunks/interleave.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"

#include <shunt/shunt.h>

namespace bench {
namespace {

using namespace shunt;

struct PassOn : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
};

struct PassOnAtKernel : PassOn {
  Level level() const override { return Level::kKernel; }
};

constexpr double kMostNanoseconds = 150;
constexpr int64_t kCalls = 5000;
constexpr int kRounds = 101;

template <class Mode>
void modeBar(const char* what) {
  if (!wanted(what)) return;
  const NoGradGuard no_grad;
  const Tensor a = randn({16}), b = randn({16});
  const auto time = [&](int64_t calls) {
    const int64_t start = threadNanoseconds();
    for (int64_t i = 0; i < calls; ++i) add(a, b);
    return threadNanoseconds() - start;
  };
  const auto timeUnderMode = [&](int64_t calls) {
    Mode mode;
    const DispatchModeGuard guard(mode);
    return time(calls);
  };
  timeUnderMode(kCalls);
  printRow([&]() -> Row {
    const Comparison c = alternate(kRounds, kCalls, kCalls, timeUnderMode, time);
    return {what, c.a - c.b, kMostNanoseconds, timesOf(c)};
  });
}

}  // namespace

void modeBars() {
  modeBar<PassOn>("add of 16 floats under a mode that does nothing, more ns");
  modeBar<PassOnAtKernel>("add of 16 floats under a mode at kKernel that does nothing, more ns");
}

}  // namespace bench
