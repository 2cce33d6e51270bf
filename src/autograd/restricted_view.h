// Views that can't be followed when they or their base change in place: what they refuse, and why.
//
// Any thread.
#pragma once

#include <shunt/autograd/autograd_meta.h>

namespace shunt::autograd {

/// Throws: the view is about to be changed in place, or, `indirect`, its base or another view of its base has been, and
/// the view's history is asked for. Its creation_meta_ is another than kDefault.
[[noreturn]] SHUNT_COLD void throwRestrictedView(const DifferentiableViewMeta& view, bool indirect);

}  // namespace shunt::autograd
