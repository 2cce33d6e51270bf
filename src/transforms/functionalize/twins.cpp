#include "src/transforms/functionalize/twins.h"

#include "src/transforms/fake/fake_impl.h"
#include "src/transforms/vmap/levels.h"

#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

#include <algorithm>

namespace shunt::functional {

Tensor Twins::of(const Tensor& t, const FunctionalTensor* f, const Tensor& value) {
  if (!t.defined()) return t;
  for (const auto& [tensor, twin] : known_)
    if (tensor.is_same(t)) return twin;
  Tensor twin;
  if (f == nullptr || !f->base().leaf().defined() || value.dtype() != f->base().leaf().dtype()) {
    twin = twinOf(value);
  } else {
    // What is written is the leaf or a view of it, whatever stands for them in the graph.
    twin = twinOf(f->base().leaf());
    if (!f->isItself() && !value.requires_grad()) twin = twin.detach();
    if (!f->isItself()) twin = twin.as_strided(value.sizes(), value.strides(), value.storage_offset());
  }
  known_.emplace_back(t, twin);
  return twin;
}

Tensor Twins::twinOf(const Tensor& value) {
  // A wrapper looks like the tensor inside as a rule: that one tells leaves and views too.
  const Tensor& inner = autograd::graph_tensor(value);
  // The converter would hand a fake one back, to be written.
  const bool ordinary = !inner.key_set().backends().empty() && !is_fake(inner) && !levels::isWrapper(inner);
  if (ordinary && inner.dtype() == value.dtype() &&
      sameGeometry(*inner.unsafeGetTensorImpl(), *value.unsafeGetTensorImpl()))
    return converter_.from_tensor(inner);
  return lookalike(value);
}

Tensor Twins::lookalike(const Tensor& value) {
  const EnableGradGuard grad;
  const bool in_level = levels::isWrapper(autograd::graph_tensor(value));
  Storage& storage = storages_[(in_level ? levels::inMemory(value) : value).storage().get()];
  if (!storage.defined()) storage = fake::makeStorage(0, value.device());
  fake::resizeStorage(*storage, std::max(storage->nbytes(), storageBytes(value)));
  const Tensor result = fake::makeTensor(storage, *value.unsafeGetTensorImpl());
  if (!value.requires_grad()) return result;
  result.set_requires_grad(true);
  if (value.is_leaf()) return result;
  if (!in_level) return result.clone();
  // In the interior of a graph, and in the memory of its aliases all the same.
  const Tensor alias = autograd::detached_alias(result);
  autograd::set_gradient_edge(alias, autograd::gradient_edge(result.clone()));
  return alias;
}

}  // namespace shunt::functional
