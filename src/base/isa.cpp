#include <shunt/core/isa.h>
#include <shunt/core/log.h>

#include <cstdlib>
#include <cstring>

namespace shunt {
namespace {

constexpr const char* kIsaNames[kNumIsas] = {"baseline", "v3", "v4"};

#if defined(SHUNT_BASELINE_ONLY)
constexpr const char* kNeeds = " needs a library that was configured without SHUNT_BASELINE_ONLY, for x86-64-";
#else
constexpr const char* kNeeds = " needs a CPU with x86-64-";
#endif

Isa detectBest() {
#if defined(SHUNT_BASELINE_ONLY)
  return Isa::kBaseline;
#else
  __builtin_cpu_init();
  // __builtin_cpu_supports also asks whether the operating system saves the registers.
  if (__builtin_cpu_supports("x86-64-v4")) return Isa::kV4;
  return __builtin_cpu_supports("x86-64-v3") ? Isa::kV3 : Isa::kBaseline;
#endif
}

Isa chooseActive() {
  const Isa best = detail::bestIsa();
  const char* wanted = std::getenv("SHUNT_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  for (int i = 0; i < kNumIsas; ++i) {
    if (std::strcmp(wanted, kIsaNames[i]) != 0) continue;
    if (static_cast<Isa>(i) <= best) return static_cast<Isa>(i);
    detail::logWarning(std::string("SHUNT_ISA=") + wanted + kNeeds + wanted + "; using " + toString(best));
    return best;
  }
  detail::logWarning(std::string("SHUNT_ISA=") + wanted + " is not one of baseline, v3, v4; using " + toString(best));
  return best;
}

}  // namespace

const char* toString(Isa isa) { return kIsaNames[static_cast<int>(isa)]; }
const char* isa_name() { return toString(detail::activeIsa()); }

namespace detail {

Isa bestIsa() {
  static const Isa best = detectBest();
  return best;
}

Isa activeIsa() {
  static const Isa active = chooseActive();
  return active;
}

}  // namespace detail
}  // namespace shunt
