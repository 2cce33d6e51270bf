// Kernels that redispatch to keys outside of their call's, with bitcode.
#include "tests/diff/redispatch_plugin.h"

#include <shunt/shunt.h>

namespace {

using namespace shunt;

Tensor handOnRelu(DispatchKeySet, const Tensor& x) {
  return ops::relu::redispatch(DispatchKeySet(DispatchKey::SparseCPU), x);
}
Tensor handOnNeg(DispatchKeySet, const Tensor& x) {
  return ops::neg::redispatch(DispatchKeySet({DispatchKey::Tracer, DispatchKey::SparseCPU}), x);
}
// The redispatch is no part of a call of relu.
Tensor reluAround(const Tensor& x) {
  shunt::abs(shunt::relu(x));
  return ops::relu::redispatch(DispatchKeySet(DispatchKey::SparseCPU), x);
}
Tensor reluTwice(const Tensor& x) { return shunt::relu(shunt::relu(x)); }

}  // namespace

void redispatching::addKernels(Library& m) {
  m.impl("relu", CppFunction::makeUnboxed<&handOnRelu>());
  m.impl("neg", CppFunction::makeUnboxed<&handOnNeg>());
}

void redispatching::addComposite(Library& m) {
  m.def("relu_twice(Tensor self) -> Tensor", CppFunction::makeUnboxed<&reluTwice>());
  m.def("relu_around(Tensor self) -> Tensor", CppFunction::makeUnboxed<&reluAround>());
}
