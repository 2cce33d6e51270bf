// Thunks against direct functions, hand-vectorised loops and libtorch: one process, one thread, in turn.
//
// Thunk against interpreter is no bar, but told for every row: both against the same yardstick, one after the other, since
// turning the compiler off drops every thunk.
#include "bench/bars/interleave.h"
#include "bench/bars/parts.h"
#include "bench/bars/row.h"
#include "bench/calls/compiled.h"
#include "bench/direct/direct.h"

#include <shunt/jit/jit.h>

#include <cstdio>
#include <limits>

namespace bench {
namespace {

enum class Yardstick { kDirect, kAvx512, kLibtorch };

struct RatioBar {
  Case c;
  Yardstick against;
  double most;
};

constexpr int64_t kKi = 1024, kMi = kKi * kKi;

const RatioBar kBars[] = {
    {{"add", 16, Mode::kNoGrad}, Yardstick::kDirect, 1.5},
    {{"mul", 16, Mode::kNoGrad}, Yardstick::kDirect, 1.5},
    {{"relu", 16, Mode::kNoGrad}, Yardstick::kDirect, 1.5},
    {{"add", 16, Mode::kNoGrad}, Yardstick::kLibtorch, 1 / 12.0},
    {{"mul", 16, Mode::kNoGrad}, Yardstick::kLibtorch, 1 / 12.0},
    {{"relu", 16, Mode::kNoGrad}, Yardstick::kLibtorch, 1 / 12.0},
    {{"add", 16, Mode::kGrad}, Yardstick::kLibtorch, 1 / 8.0},
    {{"mul", 16, Mode::kGrad}, Yardstick::kLibtorch, 1 / 8.0},
    {{"sigmoid", 16, Mode::kGrad}, Yardstick::kLibtorch, 1 / 8.0},
    {{"addmm", 32, Mode::kGradAutocast}, Yardstick::kLibtorch, 1 / 3.0},
    {{"add", kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.25},
    {{"mul", kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.25},
    {{"relu", kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.25},
    {{"add", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.10},
    {{"mul", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.10},
    {{"relu", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.10},
    {{"exp", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.35},
    {{"sigmoid", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.5},
    {{"gelu", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.5},
    {{"tanh", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.25},
    {{"gelu_tanh", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.25},
    {{"add_out", 64 * kMi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.80},
    {{kDigitsStep, 32, Mode::kGrad}, Yardstick::kLibtorch, 1 / 3.0},
    {{kDigitsStep, 1, Mode::kGrad}, Yardstick::kLibtorch, 1 / 5.0},
};

const char* nameOf(Yardstick y) {
  return y == Yardstick::kDirect ? "a direct C++ function" : y == Yardstick::kAvx512 ? "an AVX-512 loop by hand" : "libtorch";
}

std::unique_ptr<Call> makeYardstick(const RatioBar& bar, std::string& why_not) {
  switch (bar.against) {
    case Yardstick::kDirect: return makeDirectCall(bar.c);
    case Yardstick::kAvx512:
      why_not = "this CPU has no AVX-512";
      return makeAvx512Call(bar.c);
    case Yardstick::kLibtorch: break;
  }
#ifdef SHUNT_BENCH_TORCH
  return bar.c.op == kDigitsStep ? makeTorchDigitsStep(bar.c) : makeTorchCall(bar.c);
#else
  why_not = "libtorch was not found when this was built";
  return nullptr;
#endif
}

Row measure(const RatioBar& bar, std::string what) {
  Row row{std::move(what), std::numeric_limits<double>::quiet_NaN(), bar.most, ""};
  const auto yardstick = makeYardstick(bar, row.note);
  if (!yardstick) return row;
  const auto mine = bar.c.op == kDigitsStep ? makeShuntDigitsStep(bar.c) : makeShuntCall(bar.c);
  shunt::jit::set_enabled(false);
  const Comparison interpreted = compare(*mine, *yardstick);
  if (!compile(*mine)) {
    row.note = "not compiled";
    return row;
  }
  const Comparison compiled = compare(*mine, *yardstick);
  row.measured = compiled.ratio;
  char note[128];
  std::snprintf(note, sizeof note, "%.5g ns against %.5g; thunk against interpreter %.3f", compiled.a, compiled.b,
                compiled.ratio / interpreted.ratio);
  row.note = note;
  return row;
}

}  // namespace

void ratioBars() {
  for (const RatioBar& bar : kBars) {
    const std::string what = bar.c.name() + " against " + nameOf(bar.against);
    if (wanted(what)) printRow(measure(bar, what));
  }
}

}  // namespace bench
