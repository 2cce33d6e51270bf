// What the sources of tests with kernels that redispatch to keys outside of their call's share.
#pragma once

#include <shunt/core/library.h>

namespace redispatching {

/// CPU kernels that hand their calls on: relu to SparseCPU; neg to Tracer, SparseCPU.
void addKernels(shunt::Library& m);
/// relu_twice, made of relu; relu_around: relu, abs, and a redispatch of relu to SparseCPU that is in no call of relu.
void addComposite(shunt::Library& m);

}  // namespace redispatching
