#include "src/compile/checks/switches.h"

#include "src/dispatch/profile.h"

#include <shunt/compile/compile.h>
#include <shunt/core/environment.h>
#include <shunt/core/log.h>

#include <cstdlib>
#include <string_view>

namespace shunt {
namespace {

CompileCheck checkFromEnvironment() {
  const char* const given = secure_getenv("SHUNT_COMPILE_CHECK");
  const std::string_view text = given != nullptr ? given : "";
  if (text == "0") return CompileCheck::kNever;
  if (text == "1") return CompileCheck::kAlways;
  if (!text.empty() && text != "first")
    detail::logWarning(detail::str("SHUNT_COMPILE_CHECK=", text, " is neither 0 nor first nor 1; first holds"));
  return CompileCheck::kFirst;
}

}  // namespace

CompileCheck default_compile_check() {
  static const CompileCheck check = checkFromEnvironment();
  return check;
}

namespace compiled {

bool isSwitchedOn() {
  static const bool on = detail::flagFromEnvironment("SHUNT_COMPILE", true) && !profile::isOn();
  return on;
}

const char* whySwitchedOff() { return profile::isOn() ? "calls are profiled (SHUNT_PROFILE)" : "SHUNT_COMPILE=0"; }

}  // namespace compiled
}  // namespace shunt
