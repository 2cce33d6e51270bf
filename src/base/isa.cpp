#include <shunt/core/environment.h>
#include <shunt/core/error.h>
#include <shunt/core/isa.h>
#include <shunt/core/log.h>

#include <string>

namespace shunt {
namespace {

constexpr const char* kIsaNames[kNumIsas] = {"baseline", "v3", "v4"};

#define SHUNT_TRUE(level) true
constexpr bool kIsBuilt[kNumIsas] = SHUNT_PER_ISA(SHUNT_TRUE);
#undef SHUNT_TRUE

bool cpuHas(Isa isa) {
  // __builtin_cpu_supports also asks whether the operating system saves the registers.
  switch (isa) {
    case Isa::kV4:
      return __builtin_cpu_supports("x86-64-v4");
    case Isa::kV3:
      return __builtin_cpu_supports("x86-64-v3");
    case Isa::kBaseline:
      break;
  }
  return true;
}

Isa detectBest() {
  __builtin_cpu_init();
  for (int i = kNumIsas - 1; i >= 0; --i)
    if (kIsBuilt[i] && cpuHas(static_cast<Isa>(i))) return static_cast<Isa>(i);
  // Thrown while the library is loaded, where nothing can catch it: the message is what is left.
  throw Error(
      "this libshunt.so was built with SHUNT_ISA_LEVELS for another CPU, and has no loops that this one can run");
}

/// Why `wanted` isn't used, after its name.
std::string whyNot(Isa wanted) {
  const std::string name = kIsaNames[static_cast<int>(wanted)];
  return kIsBuilt[static_cast<int>(wanted)] ? " needs a CPU with x86-64-" + name
                                            : " needs a library that was configured with it in SHUNT_ISA_LEVELS";
}

Isa chooseActive() {
  const Isa best = detail::bestIsa();
  const auto wanted = detail::environment::read(detail::environment::Variable::kIsa, toString(best));
  for (int i = 0; i < kNumIsas; ++i) {
    if (!wanted.isWord(kIsaNames[i])) continue;
    if (kIsBuilt[i] && static_cast<Isa>(i) <= best) return static_cast<Isa>(i);
    detail::logWarning("SHUNT_ISA=" + wanted.text + whyNot(static_cast<Isa>(i)) + "; using " + toString(best));
  }
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
