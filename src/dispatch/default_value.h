// A schema's default values as arguments of boxed calls. Pure functions.
#pragma once

#include <shunt/core/argument.h>
#include <shunt/core/ivalue.h>

namespace shunt {

/// What a call that doesn't give the argument, which has a default, passes.
IValue defaultValueOf(const Argument& argument);

}  // namespace shunt
