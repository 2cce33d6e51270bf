#include "src/autograd/anomaly.h"

#include "src/autograd/graph_task.h"

#include <shunt/core/log.h>
#include <shunt/ops.h>

#include <exception>

namespace shunt::autograd {
namespace {

constinit ForwardPlaces forward_places;
constinit thread_local bool check_nan SHUNT_TLS_MODEL = true;

// `role`: what its forward call has to do with the error.
std::string describe(const Node& node, const char* role) {
  const ForwardPlace* place = node.forward_place();
  if (place == nullptr)
    return ". No forward pass information available: anomaly detection has to be on during the forward pass too.";
  const bool is_known = place->captured != nullptr && forward_places.describe != nullptr;
  return shunt::detail::str(". Traceback of forward call that ", role, ":",
                            is_known ? "\n" + forward_places.describe(place->captured)
                                     : " not known, as nothing notes where the program is (set_forward_places).");
}

void warnOf(const Node& failed) {
  shunt::detail::logWarning("Error detected in " + failed.name() + describe(failed, "caused the error"));
  const ForwardPlace* place = failed.forward_place();
  while (place != nullptr && place->parent) {
    const Node& parent = *place->parent;
    shunt::detail::logWarning("Previous calculation was induced by " + parent.name() +
                              describe(parent, "induced the previous calculation"));
    place = parent.forward_place();
  }
}

}  // namespace

void set_forward_places(ForwardPlaces places) noexcept { forward_places = places; }

bool AnomalyMode::is_enabled() { return (shunt::detail::tls_state.mode & shunt::detail::kModeAnomaly) != 0; }
bool AnomalyMode::should_check_nan() { return check_nan; }
void AnomalyMode::set_enabled(bool enabled, bool checks_nan) {
  uint64_t& mode = shunt::detail::tls_state.mode;
  mode = enabled ? mode | shunt::detail::kModeAnomaly : mode & ~shunt::detail::kModeAnomaly;
  check_nan = checks_nan;
}

DetectAnomalyGuard::DetectAnomalyGuard(bool check_nan)
    : was_enabled_(AnomalyMode::is_enabled()), checked_nan_(AnomalyMode::should_check_nan()) {
  AnomalyMode::set_enabled(true, check_nan);
}
DetectAnomalyGuard::~DetectAnomalyGuard() { AnomalyMode::set_enabled(was_enabled_, checked_nan_); }

std::unique_ptr<ForwardPlace> forwardPlaceNow() {
  auto place = std::make_unique<ForwardPlace>();
  if (forward_places.capture != nullptr) place->captured = forward_places.capture();
  place->parent = intrusive_ptr<Node>::retainFrom(const_cast<Node*>(runningNode()));
  return place;
}

// The error that is on its way says more than one of this function's own.
void warnOfForwardPlace(const Node& failed) noexcept {
  try {
    warnOf(failed);
  } catch (...) {
  }
}

void checkNoNan(const Node& node, const variable_list& grads) {
  const AutoGradMode without_history(false);
  for (size_t i = 0; i < grads.size(); ++i)
    SHUNT_CHECK(!grads[i].defined() || !grads[i].ne(grads[i]).any().item().toBool(), "Function '", node.name(),
                "' returned nan values in its ", i, "th output.");
}

}  // namespace shunt::autograd
