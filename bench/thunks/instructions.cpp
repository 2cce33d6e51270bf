// Instructions that a call executes more because there is a compiler, though it gains nothing: counted by callgrind.
//
// Against the call as it would be without a compiler, and told besides: against the same call with SHUNT_JIT=0.
// valgrind has no AVX-512; --smc-check=all, since thunks appear in memory that it may have translated before.
#include "bench/thunks/command.h"
#include "bench/thunks/parts.h"
#include "bench/thunks/row.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace bench {
namespace {

constexpr int kCalls = 20'000;

struct InstructionBar {
  const char* what;
  const char* scenario;
  const char* threshold;
  double most;
};

// Thresholds: cold calls and those that miss a thunk are counted, but never often enough.
const InstructionBar kBars[] = {
    {"instructions more of a cold call", "cold", "1000000", 12},
    {"instructions more of a refused call", "refused", "64", 12},
    {"instructions more of a call that no hot entry fits", "probe_miss", "30000", 16},
    {"instructions more of a call that a thunk's guard sends on", "guard_miss", "30000", 16},
};

double instructionsPerCall(const std::filesystem::path& program, const InstructionBar& bar, const char* way,
                           const char* jit) {
  const std::string settings = std::string("SHUNT_ISA=v3 SHUNT_JIT_CACHE=off SHUNT_JIT_KEEP=1 SHUNT_JIT=") + jit +
                               " SHUNT_JIT_THRESHOLD=" + bar.threshold;
  const std::string command = settings + " valgrind --tool=callgrind --smc-check=all --callgrind-out-file=/dev/null " +
                              "--toggle-collect=countedCalls '" + program.string() + "' " + bar.scenario + " " + way +
                              " " + std::to_string(kCalls) + " 2>&1";
  int status = 0;
  const std::string text = runCommand(command, status);
  constexpr std::string_view kCollected = "Collected : ";
  const size_t at = text.find(kCollected);
  if (status != 0 || at == text.npos) throw std::runtime_error("failed: " + command + "\n" + text);
  return std::stod(text.substr(at + kCollected.size())) / kCalls;
}

Row measure(const InstructionBar& bar, const std::filesystem::path& program) {
  const double with = instructionsPerCall(program, bar, "with", "1");
  const double off = instructionsPerCall(program, bar, "with", "0");
  const double without = instructionsPerCall(program, bar, "without", "0");
  char note[128];
  std::snprintf(note, sizeof note, "%.1f of them; %.1f more than with SHUNT_JIT=0", with, with - off);
  return {bar.what, with - without, bar.most, note};
}

}  // namespace

void instructionBars() {
  const auto program = programFolder() / "bench_instructions";
  int status = 0;
  runCommand("valgrind --version 2>&1", status);
  for (const InstructionBar& bar : kBars) {
    if (!wanted(bar.what)) continue;
    if (status == 0)
      printRow(measure(bar, program));
    else
      printRow({bar.what, kNoFigure, bar.most, "valgrind is not installed"});
  }
}

}  // namespace bench
