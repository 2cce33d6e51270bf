#include "src/compile/guards/onlookers.h"

#include "src/dispatch/awaited_call.h"

#include <shunt/core/dispatch_key_set.h>

namespace shunt::compiled {

bool nothingSeesOperators() {
  constexpr uint64_t kUsual = (kAutogradAndViewKeys | kAutocastKeys).functionalities().raw();
  const detail::LocalState& s = detail::tls_state;
  return isPlainThread() && !detail::trace_enabled.load(std::memory_order_relaxed) && detail::awaited_call == nullptr &&
         (s.mode & (detail::kModeTrace | detail::kModesOfRecording)) == 0 && (s.user_excluded & ~kUsual) == 0;
}

}  // namespace shunt::compiled
