#include "src/compile/guards/call_kind.h"

#include "src/autograd/storage_and_grad.h"

#include <shunt/tensor/scalar_type.h>

namespace shunt::compiled {
namespace {

class Hash {
 public:
  template <class T>
  void add(T value) {
    value_ = (std::rotl(value_, 5) ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15;
    value_ ^= value_ >> 32;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

/// Of a tensor by itself, and of its grad.
void add(const Tensor& t, Hash& kind, Hash& sizes) {
  kind.add(t.defined());
  if (!t.defined()) return;
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  // A single element lies as all that lie in order: a batch of one is no other kind.
  const LayoutClass layout = impl.layout_class();
  kind.add(layout == LayoutClass::kOneElement ? LayoutClass::kContiguous : layout);
  kind.add(impl.key_set().raw());
  kind.add(impl.dtype());
  kind.add(impl.device().type());
  kind.add(impl.device().index());
  kind.add(impl.dim());
  kind.add(t.requires_grad());
  kind.add(t.is_leaf());
  kind.add(impl.is_wrapped_number());
  for (const int64_t n : impl.sizes()) sizes.add(n);
  for (const int64_t n : impl.strides()) sizes.add(n);
  const Tensor* grad = autograd::gradOf(t);
  kind.add(grad != nullptr);
  if (grad != nullptr) add(*grad, kind, sizes);
}

/// Which tensors are one, or share memory: by the first that they do so with.
void addPlaces(std::span<const Tensor* const> tensors, Hash& kind) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StorageImpl* mine = autograd::storageOf(*tensors[i]);
    size_t same = 0, home = 0;
    while (same < i && !(tensors[same]->defined() && tensors[same]->is_same(*tensors[i]))) ++same;
    while (home < i && (mine == nullptr || autograd::storageOf(*tensors[home]) != mine)) ++home;
    kind.add(same);
    kind.add(home);
  }
}

void addModes(const Graph::Modes& modes, Hash& kind) {
  for (const bool on : {modes.grad, modes.inference, modes.cast_cache, modes.in_autocast}) kind.add(on);
  kind.add(modes.excluded);
  for (const auto& [device, dtype] : modes.autocast) {
    kind.add(device);
    kind.add(dtype);
  }
}

}  // namespace

detail::CompileKind kindOfTensor(const Tensor& t) {
  Hash kind, sizes;
  add(t, kind, sizes);
  return {kind.value(), sizes.value()};
}

detail::CompileKind kindOfCall(const detail::CompileArguments& arguments, const CompileOptions& options) {
  Hash kind, sizes;
  kind.add(arguments.types->hash_code());
  for (const uint64_t n : arguments.numbers) kind.add(n);
  for (const double* s : options.scalars) kind.add(std::bit_cast<uint64_t>(*s));
  InlineVector<const Tensor*, 8> all;
  for (const Tensor* t : arguments.tensors) all.push_back(t);
  for (const Tensor* t : options.captures) {
    kind.add(reinterpret_cast<uintptr_t>(t->unsafeGetTensorImpl()));
    all.push_back(t);
  }
  for (const Tensor* t : all) add(*t, kind, sizes);
  addPlaces({all.data(), all.size()}, kind);
  addModes(Graph::Modes::now(), kind);
  kind.add(get_default_dtype());
  return {kind.value(), sizes.value()};
}

}  // namespace shunt::compiled
