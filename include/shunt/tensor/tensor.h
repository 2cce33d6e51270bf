// Tensor: a reference-counted handle on a TensorImpl. Copying shares; an empty handle is the undefined tensor.
//
// Operators are methods here and functions in shunt/ops.h, both generated from the operator dictionary; names, argument
// orders and defaults are PyTorch's. A handle is not synchronised, the tensor's metadata is read-only for reading
// threads.
#pragma once

#include <shunt/core/array_ref.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/generator.h>
#include <shunt/tensor/options.h>
#include <shunt/tensor/scalar.h>
#include <shunt/tensor/tensor_accessor.h>
#include <shunt/tensor/tensor_fwd.h>
#include <shunt/tensor/tensor_impl.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/generated/operator_decls.h>

namespace shunt {

namespace indexing {
class TensorIndex;  // tensor_index.h
}

class SHUNT_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(intrusive_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// `x[0] = y`: writes to the elements, as a handle that is about to go refers to nothing later on.
  Tensor& operator=(const Tensor& o) && { return copy_(o); }
  Tensor& operator=(Tensor&& o) && { return copy_(o); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  /// Whether it refers to a tensor; methods of an undefined one throw.
  bool defined() const { return impl_.defined(); }
  TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  const intrusive_ptr<TensorImpl>& getIntrusivePtr() const { return impl_; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  size_t use_count() const { return impl_.use_count(); }
  void reset() { impl_.reset(); }

  // Metadata. Each throws on an undefined tensor.
  int64_t dim() const { return impl().dim(); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return impl().numel(); }
  IntArrayRef sizes() const { return impl().sizes(); }
  IntArrayRef strides() const { return impl().strides(); }
  /// Negative dimensions count from the end; throws IndexError when out of range.
  int64_t size(int64_t d) const;
  int64_t stride(int64_t d) const;
  int64_t storage_offset() const { return impl().storage_offset(); }
  ScalarType scalar_type() const { return impl().dtype(); }
  ScalarType dtype() const { return impl().dtype(); }
  Device device() const { return impl().device(); }
  Layout layout() const { return impl().layout(); }
  DispatchKeySet key_set() const { return impl().key_set(); }
  TensorOptions options() const { return TensorOptions(dtype()).device(device()).layout(layout()); }
  int64_t element_size() const { return impl().itemsize(); }
  int64_t itemsize() const { return impl().itemsize(); }
  size_t nbytes() const { return static_cast<size_t>(numel() * element_size()); }
  bool is_contiguous() const { return impl().is_contiguous(); }
  bool is_contiguous(MemoryFormat format) const { return impl().is_contiguous(format); }
  bool is_non_overlapping_and_dense() const { return impl().is_non_overlapping_and_dense(); }
  bool is_same_size(const Tensor& other) const { return sizes().equals(other.sizes()); }
  bool is_floating_point() const { return isFloatingType(dtype()); }
  /// Whether its dtype has numbers below 0.
  bool is_signed() const { return dtype() != kBool && dtype() != kByte; }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_privateuseone() const { return device().type() == kPrivateUse1; }
  bool is_inference() const { return impl().is_inference(); }
  /// Whether its memory is page-locked, which Shunt's never is.
  bool is_pinned() const {
    impl();
    return false;
  }
  /// The memory format that its strides have.
  MemoryFormat suggest_memory_format() const;
  const Storage& storage() const { return impl().storage(); }
  bool is_alias_of(const Tensor& other) const { return storage() == other.storage(); }

  // Data.
  /// Untyped pointer to the first element.
  void* data_ptr() const;
  /// Throws when T is not the tensor's dtype or the tensor has no data on the CPU's side (Meta), and while compile()
  /// records: a graph has no elements.
  template <class T>
  T* data_ptr() const {
    // Kernels that users write ask for each tensor; out of line, it was 6 % of a call on 16 floats.
    if (isPlain() && impl_->dtype() == scalar_type_of<T> && impl_->numel() != 0 && impl_->has_storage() && !isTraced())
        [[likely]]
      return reinterpret_cast<T*>(impl_->storage()->data()) + impl_->storage_offset();
    checkDataType(scalar_type_of<T>);
    return static_cast<T*>(data_ptr());
  }
  /// Its elements by their indices: `a[i][j]`. Throws where T is not its dtype, or N not the number of its dimensions.
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const& {
    static_assert(N > 0, "a tensor without dimensions has one element: use item()");
    checkDimensions(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;  // the tensor would be gone
  /// The same with sizes and strides in the accessor.
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, Index> generic_packed_accessor() const& {
    static_assert(N > 0, "a tensor without dimensions has one element: use item()");
    checkDimensions(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  /// generic_packed_accessor with 32-bit, and with 64-bit indices.
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor32() const& {
    return generic_packed_accessor<T, N, Traits, int32_t>();
  }
  /// The same with 64-bit indices.
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor64() const& {
    return generic_packed_accessor<T, N, Traits, int64_t>();
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
  auto generic_packed_accessor() && = delete;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor32() && = delete;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor64() && = delete;
  /// The value of a one-element tensor. Throws where T cannot hold it.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().toWithoutOverflow<T>();
  }

  // Autograd (defined in src/autograd).
  bool requires_grad() const { return impl().requires_grad(); }
  const Tensor& set_requires_grad(bool on) const;
  const Tensor& requires_grad_(bool on = true) const { return set_requires_grad(on); }
  bool is_leaf() const;
  bool is_view() const;
  const Tensor& _base() const;
  /// The accumulated gradient; undefined when there is none.
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  const intrusive_ptr<Node>& grad_fn() const;
  int64_t output_nr() const;
  /// Runs the graph from this tensor (gradient 1 for one element, given otherwise) and adds to its leaves' grad.
  /// retain_graph defaults to create_graph. With `inputs`, which are not empty, to their grad only.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                std::optional<TensorList> inputs = std::nullopt) const;
  void retain_grad() const;
  bool retains_grad() const;
  /// `hook(grad)` may return a replacement gradient; an undefined one keeps it. Returns the hook's number.
  unsigned register_hook(std::function<Tensor(const Tensor&)> hook) const;
  /// `hook(grad)` that returns nothing only looks at it.
  template <class F>
    requires(std::is_void_v<std::invoke_result_t<F&, const Tensor&>>)
  unsigned register_hook(F hook) const {
    return register_hook(std::function<Tensor(const Tensor&)>([hook = std::move(hook)](const Tensor& grad) mutable {
      hook(grad);
      return Tensor();
    }));
  }
  /// Takes a hook back, by the number that register_hook returned.
  void remove_hook(unsigned id) const;
  /// `hook(tensor)` runs each time that a backward pass has added to this leaf's grad. Returns the hook's number.
  /// Throws for tensors that aren't leaves or don't require grad.
  unsigned register_post_accumulate_grad_hook(std::function<void(const Tensor&)> hook) const;
  void remove_post_accumulate_grad_hook(unsigned id) const;
  int64_t _version() const;
  /// Shares data, but neither graph nor version counter.
  Tensor data() const;
  Tensor tensor_data() const { return data(); }
  /// Makes this tensor refer to another's data. Throws when types are incompatible.
  void set_data(const Tensor& new_data) const;

  // The other conversions are the dictionary's overloads of `to`.
  Tensor toType(ScalarType dtype) const { return to(dtype); }
  Tensor cpu() const { return to(TensorOptions(Device(kCPU))); }
  /// On the current CUDA device. Throws where CUDA has no backend.
  Tensor cuda() const { return to(TensorOptions(Device(kCUDA))); }

  Tensor operator-() const;
  Tensor operator~() const;
  Tensor& operator+=(const Tensor& o) { return add_(o, 1); }
  Tensor& operator-=(const Tensor& o) { return sub_(o, 1); }
  Tensor& operator*=(const Tensor& o) { return mul_(o); }
  Tensor& operator/=(const Tensor& o) { return div_(o); }
  Tensor& operator+=(const Scalar& o) { return add_(o, 1); }
  Tensor& operator-=(const Scalar& o) { return sub_(o, 1); }
  Tensor& operator*=(const Scalar& o) { return mul_(o); }
  Tensor& operator/=(const Scalar& o) { return div_(o); }
  Tensor operator[](int64_t index) const { return select(0, index); }
  /// The same, of a number that is known at run time only: no floating one, and no tensor with dimensions.
  Tensor operator[](const Scalar& index) const;
  Tensor operator[](const Tensor& index) const;

  /// As PyTorch prints: values, and dtype where it is not the default.
  std::string toString() const;

#include <shunt/generated/tensor_methods.inc>

  /// A tensor that is contiguous in that format: this one, for which no operator is called then (as PyTorch does), or a
  /// copy. Modes and wrapper tensors see every call.
  Tensor contiguous(MemoryFormat memory_format = MemoryFormat::Contiguous) const {
    if (memory_format == MemoryFormat::Contiguous && isPlain() && impl_->is_contiguous() && !detail::underMode())
        [[likely]]
      return *this;
    return ops::contiguous::call(*this, memory_format);
  }
  // What an index of Python shows, or is assigned to. Callers include <shunt/tensor/tensor_index.h>.
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value);

  /// Over one dimension. (A number could also be var(unbiased), as it converts to bool.)
  template <std::signed_integral Dim>
  Tensor var(Dim dim) const {
    return var(IntArrayRef(int64_t{dim}));
  }
  /// Over one dimension, as var.
  template <std::signed_integral Dim>
  Tensor std(Dim dim) const {
    return std(IntArrayRef(int64_t{dim}));
  }

  /// func(self, arguments...)
  template <class F, class... Args>
  decltype(auto) m(F func, Args&&... args) const {
    return func(*this, std::forward<Args>(args)...);
  }

  /// Up to the largest number of the dtype. (nullopt alone could also be the generator of random_(to).)
  Tensor& random_(int64_t from, std::nullopt_t to) const {
    return random_(from, std::optional<int64_t>(to), std::nullopt);
  }

 private:
  TensorImpl& impl() const {
    if (!impl_.defined()) [[unlikely]]
      throwUndefined();
    return *impl_;
  }
  /// Defined, in the CPU's memory, and no wrapper.
  bool isPlain() const { return impl_.defined() && (impl_->key_set().raw() & ~kPlainCpuKeys.raw()) == 0; }
  /// Whether a trace may have to know who looks at elements, also from inside of a level of grad or vmap.
  static bool isTraced() {
    constexpr DispatchKeySet kKeys{DispatchKey::Tracer, DispatchKey::Batched};
    return (detail::tls_state.included & kKeys.functionalities().raw()) != 0;
  }
  [[noreturn]] static void throwUndefined();
  void checkDataType(ScalarType wanted) const;
  void checkDimensions(size_t wanted) const;

  intrusive_ptr<TensorImpl> impl_;
};

SHUNT_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// A tensor over memory that the caller owns; it must outlive the tensor. Sizes in elements; strides default to
/// contiguous.
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// As above; `deleter(data)` runs when the last tensor that uses the memory is gone.
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                           const TensorOptions& options = {});
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                           const TensorOptions& options = {});

/// A 0-dim tensor of the scalar's type (or `dtype`) that counts as a number in type promotion.
SHUNT_API Tensor scalar_to_tensor(const Scalar& value, Device device = kCPU);
SHUNT_API Tensor wrapped_scalar_tensor(const Scalar& value, Device device = kCPU);

}  // namespace shunt
