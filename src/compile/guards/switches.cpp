#include "src/compile/guards/switches.h"

#include "src/dispatch/profile.h"

#include <shunt/compile/compile.h>
#include <shunt/core/environment.h>

namespace shunt {
namespace {

CompileCheck checkFromEnvironment() {
  const auto value = detail::environment::read(detail::environment::Variable::kCompileCheck);
  if (value.isWord("first")) return CompileCheck::kFirst;
  return value.on || value.isWord("always") ? CompileCheck::kAlways : CompileCheck::kNever;
}

}  // namespace

CompileCheck default_compile_check() {
  static const CompileCheck check = checkFromEnvironment();
  return check;
}

namespace compiled {

bool isSwitchedOn() {
  static const bool on = detail::environment::flag<detail::environment::Variable::kCompile>() && !profile::isOn();
  return on;
}

}  // namespace compiled
}  // namespace shunt
