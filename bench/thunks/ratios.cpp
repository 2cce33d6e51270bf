// Thunks against direct functions, hand-vectorised loops and libtorch: one process, one thread, in turn.
//
// Thunk against interpreter is no bar, but noted for every row: both against the same yardstick, one after the other,
// since turning the compiler off drops every thunk.
//
// Bars are judged under SHUNT_JIT_KEEP=1: what a thunk costs. What a program gets with the default settings, where a
// thunk may be dropped again and calls are timed now and then, is measured by another process (ratiosByDefault) and
// printed in another column.
#include "bench/calls/compiled.h"
#include "bench/direct/direct.h"
#include "bench/thunks/command.h"
#include "bench/thunks/interleave.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"

#include <shunt/jit/jit.h>

#include <cstdio>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace bench {
namespace {

// By hand with AVX-512, or with AVX2; that row's calls run under SHUNT_ISA=v3, since a thunk uses all that it may.
enum class Yardstick { kDirect, kAvx512, kAvx2, kLibtorch };

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
    {{"add", kKi, Mode::kNoGrad}, Yardstick::kAvx2, 1.25},
    {{"mul", kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.25},
    {{"mul", kKi, Mode::kNoGrad}, Yardstick::kAvx2, 1.25},
    {{"relu", kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.25},
    {{"relu", kKi, Mode::kNoGrad}, Yardstick::kAvx2, 1.25},
    {{"add", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.10},
    {{"add", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx2, 1.10},
    {{"mul", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.10},
    {{"mul", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx2, 1.10},
    {{"relu", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx512, 1.10},
    {{"relu", 16 * kKi, Mode::kNoGrad}, Yardstick::kAvx2, 1.10},
    {{"exp", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.35},
    {{"sigmoid", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.5},
    {{"gelu", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.5},
    {{"tanh", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.25},
    {{"gelu_tanh", 16 * kKi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.25},
    {{"add_out", 64 * kMi, Mode::kNoGrad}, Yardstick::kLibtorch, 0.80},
    {{kDigitsStep, 32, Mode::kGrad}, Yardstick::kLibtorch, 1 / 3.0},
    {{kDigitsStep, 1, Mode::kGrad}, Yardstick::kLibtorch, 1 / 5.0},
    {{kDigitsConvStep, 32, Mode::kGrad}, Yardstick::kLibtorch, 0.8},
};

std::string nameOf(const RatioBar& bar) {
  const char* const names[] = {"a direct C++ function", "an AVX-512 loop by hand", "an AVX2 loop by hand", "libtorch"};
  return bar.c.name() + " against " + names[static_cast<int>(bar.against)];
}

std::unique_ptr<Call> makeYardstick(const RatioBar& bar) {
  switch (bar.against) {
    case Yardstick::kDirect:
      return makeDirectCall(bar.c);
    case Yardstick::kAvx512:
      return makeByHandCall(bar.c, shunt::Isa::kV4);
    case Yardstick::kAvx2:
      return makeByHandCall(bar.c, shunt::Isa::kV3);
    case Yardstick::kLibtorch:
      break;
  }
#ifdef SHUNT_BENCH_TORCH
  return isTrainingStep(bar.c) ? makeTorchDigitsStep(bar.c) : makeTorchCall(bar.c);
#else
  return nullptr;
#endif
}

Row withoutYardstick(const RatioBar& bar) {
  Row row{nameOf(bar), kNoFigure, bar.most, ""};
  if (bar.against == Yardstick::kLibtorch) {
    row.lack = lackOfLibtorch();
    if (row.lack == Lack::kNothing) row.note = "libtorch 1.13 was not found when this was built";
  } else {
    row.lack = Lack::kInstructions;
    row.note = std::string("its instruction set is ") + shunt::isa_name();
  }
  return row;
}

std::unique_ptr<Call> makeOurs(const RatioBar& bar) {
  return isTrainingStep(bar.c) ? makeShuntDigitsStep(bar.c) : makeShuntCall(bar.c);
}

Row measure(const RatioBar& bar) {
  const auto yardstick = makeYardstick(bar);
  if (!yardstick) return withoutYardstick(bar);
  Row row{nameOf(bar), kNoFigure, bar.most, ""};
  const auto ours = makeOurs(bar);
  shunt::jit::set_enabled(false);
  const Comparison interpreted = compare(*ours, *yardstick);
  if (!compile(*ours)) {
    row.note = "not compiled";
    return row;
  }
  const Comparison compiled = compare(*ours, *yardstick);
  row.measured = compiled.ratio;
  char note[128];
  std::snprintf(note, sizeof note, "%.5g ns against %.5g; thunk against interpreter %.3f", compiled.a, compiled.b,
                compiled.ratio / interpreted.ratio);
  row.note = note;
  return row;
}

/// Calls for a second: what is hot by then is compiled, thunks have been timed, and those that lost are gone.
void warmUp(Call& call) {
  constexpr int64_t kNanoseconds = 1'000'000'000;
  for (const int64_t start = threadNanoseconds(); threadNanoseconds() - start < kNanoseconds;) {
    timeCalls(call, 16);
    shunt::jit::wait_idle();
  }
}

/// Those bars that were asked for and run, or don't, under SHUNT_ISA=v3.
std::vector<RatioBar> wantedBars(bool held_to_v3) {
  std::vector<RatioBar> out;
  for (const RatioBar& bar : kBars)
    if (wanted(nameOf(bar)) && (bar.against == Yardstick::kAvx2) == held_to_v3) out.push_back(bar);
  return out;
}

/// What a process with the default settings measured, by row.
std::map<std::string, double> askForRatiosByDefault(const char* part) {
  std::string command = "env";
  for (const char* name : {"THRESHOLD", "KEEP", "SYNC", "CACHE", "MAX_CODE"})
    command += std::string(" -u SHUNT_JIT_") + name;
  command += " " + quoted(programFolder() / "bench_bars") + " --part " + quoted(part) + " " + quoted(filter());
  int status = 0;
  std::istringstream lines(runCommand(command, status));
  if (status != 0) throw std::runtime_error("failed: " + command);
  std::map<std::string, double> out;
  std::string what, ratio;
  while (std::getline(lines, what, '\t') && std::getline(lines, ratio)) out[what] = std::stod(ratio);
  return out;
}

void printRatiosByDefault(bool held_to_v3) {
  for (const RatioBar& bar : wantedBars(held_to_v3)) {
    const auto yardstick = makeYardstick(bar);
    if (!yardstick) continue;
    const auto ours = makeOurs(bar);
    warmUp(*ours);
    std::printf("%s\t%.6g\n", nameOf(bar).c_str(), compare(*ours, *yardstick).ratio);
  }
}

void printRatios(bool held_to_v3, const char* part_by_default) {
  if (wantedBars(held_to_v3).empty()) return;
  const std::map<std::string, double> by_default = askForRatiosByDefault(part_by_default);
  for (const RatioBar& bar : wantedBars(held_to_v3)) {
    printRow([&] {
      Row row = measure(bar);
      if (const auto it = by_default.find(row.what); it != by_default.end()) row.by_default = it->second;
      return row;
    });
  }
}

}  // namespace

void ratioBars() { printRatios(false, kRatiosByDefault); }
void ratiosByDefault() { printRatiosByDefault(false); }
void avx2RatioBars() { printRatios(true, kAvx2RatiosByDefault); }
void avx2RatiosByDefault() { printRatiosByDefault(true); }

}  // namespace bench
