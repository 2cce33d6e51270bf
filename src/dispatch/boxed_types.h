// Whether a boxed value is of a schema's type: for arguments that go in, and returns that come out. A pure function.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/types.h>

namespace shunt::boxed {

/// None is of optional types only.
bool holds(const IValue& value, const Type& type);

}  // namespace shunt::boxed
