// What a function asks of a tensor and no operator shows, for bindings of other languages: a graph recorded by
// compile() would keep the answer. Each does nothing on a thread that doesn't record.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::detail {

/// The function asks where in its storage `t` begins: later calls are compared by that.
SHUNT_API void noteOffsetAsked(const Tensor& t);
/// The function asks `t` by `method` for what no later call is compared by. Throws Error where compile() records and
/// `t` is no result of the function.
SHUNT_API void noteIdentityAsked(const Tensor& t, const char* method);
/// The same for what the views of a tensor share with it. Throws Error also where `t` is a view of one from outside.
SHUNT_API void noteMemoryAsked(const Tensor& t, const char* method);

}  // namespace shunt::detail
