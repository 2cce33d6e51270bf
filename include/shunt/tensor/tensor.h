// Tensor: a reference-counted handle on a TensorImpl. Copies of a handle share the tensor. A default-constructed handle
// is undefined.
//
// Operators are methods here and functions in shunt/ops.h. Both are generated from the operator dictionary, with
// PyTorch's names, argument orders and defaults. Handles are not synchronised. Several threads may read the metadata of
// one tensor while no thread changes it.
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
  /// `x[0] = y` writes to the elements. Rebinding a temporary handle would have no effect.
  Tensor& operator=(const Tensor& o) && { return copy_(o); }
  Tensor& operator=(Tensor&& o) && { return copy_(o); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  /// Whether the handle refers to a tensor. Most other methods throw on an undefined handle.
  bool defined() const { return impl_.defined(); }
  TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  const intrusive_ptr<TensorImpl>& getIntrusivePtr() const { return impl_; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  size_t use_count() const { return impl_.use_count(); }
  void reset() { impl_.reset(); }

  // Metadata. Each throws on an undefined tensor. Strides and storage_offset() count elements.
  int64_t dim() const { return impl().dim(); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return impl().numel(); }
  IntArrayRef sizes() const { return impl().sizes(); }
  IntArrayRef strides() const { return impl().strides(); }
  /// Negative `d` counts from the last dimension. Throws IndexError when `d` is out of range.
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
  /// Whether the dtype has negative numbers.
  bool is_signed() const { return dtype() != kBool && dtype() != kByte; }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_privateuseone() const { return device().type() == kPrivateUse1; }
  bool is_inference() const { return impl().is_inference(); }
  /// Always false: Shunt has no page-locked memory.
  bool is_pinned() const {
    impl();
    return false;
  }
  /// ChannelsLast or ChannelsLast3d when the strides of 4 or 5 dimensions have that order, else Contiguous.
  MemoryFormat suggest_memory_format() const;
  const Storage& storage() const { return impl().storage(); }
  bool is_alias_of(const Tensor& other) const { return storage() == other.storage(); }

  // Data.
  /// Untyped pointer to the first element. Throws for Meta, fake and wrapper tensors, which have no data, and while
  /// compile() records: a graph has no elements.
  void* data_ptr() const;
  /// As above. Also throws when T is not the tensor's dtype.
  template <class T>
  T* data_ptr() const {
    // Users' kernels call this for each tensor. Out of line, it took 6 % of a call on 16 floats.
    if (isPlain() && impl_->dtype() == scalar_type_of<T> && impl_->numel() != 0 && impl_->has_storage() && !isTraced())
        [[likely]]
      return reinterpret_cast<T*>(impl_->storage()->data()) + impl_->storage_offset();
    checkDataType(scalar_type_of<T>);
    return static_cast<T*>(data_ptr());
  }
  /// The elements by index: `a[i][j]`. Throws when T is not the dtype or N is not dim().
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const& {
    static_assert(N > 0, "a tensor without dimensions has one element: use item()");
    checkDimensions(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;  // the accessor would dangle
  /// As accessor(), but the accessor holds copies of sizes and strides. Throws when one of them does not fit in Index.
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, Index> generic_packed_accessor() const& {
    static_assert(N > 0, "a tensor without dimensions has one element: use item()");
    checkDimensions(N);
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  /// generic_packed_accessor() with 32-bit indices.
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor32() const& {
    return generic_packed_accessor<T, N, Traits, int32_t>();
  }
  /// generic_packed_accessor() with 64-bit indices.
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
  /// The value of a one-element tensor. Throws for other numbers of elements, and when T cannot hold the value.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().toWithoutOverflow<T>();
  }

  // Autograd (defined in src/autograd).
  bool requires_grad() const { return impl().requires_grad(); }
  /// Throws when it would set the flag for a dtype that is not floating-point, or for an inference tensor outside
  /// InferenceMode; and when it would clear the flag of a tensor that is not a leaf.
  const Tensor& set_requires_grad(bool on) const;
  const Tensor& requires_grad_(bool on = true) const { return set_requires_grad(on); }
  bool is_leaf() const;
  bool is_view() const;
  const Tensor& _base() const;
  /// The accumulated gradient; undefined when there is none. backward() sets it on leaves and after retain_grad().
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  const intrusive_ptr<Node>& grad_fn() const;
  int64_t output_nr() const;
  /// Runs the backward graph from this tensor and adds to the grad of its leaves, or of `inputs` only.
  /// - gradient: may be left out for a tensor of one element, and is 1 then.
  /// - retain_graph: defaults to create_graph.
  /// - inputs: throws when given and empty.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                std::optional<TensorList> inputs = std::nullopt) const;
  void retain_grad() const;
  bool retains_grad() const;
  /// Calls `hook(grad)` in each backward pass. The hook returns a replacement of the same shape, dtype and device, or
  /// an undefined tensor to keep the gradient. Returns the hook's id. Throws unless the tensor requires grad.
  unsigned register_hook(std::function<Tensor(const Tensor&)> hook) const;
  /// A hook without a result keeps the gradient.
  template <class F>
    requires(std::is_void_v<std::invoke_result_t<F&, const Tensor&>>)
  unsigned register_hook(F hook) const {
    return register_hook(std::function<Tensor(const Tensor&)>([hook = std::move(hook)](const Tensor& grad) mutable {
      hook(grad);
      return Tensor();
    }));
  }
  /// Removes the hook with the id that register_hook returned. Throws when there was none.
  void remove_hook(unsigned id) const;
  /// Calls `hook(tensor)` each time a backward pass has added to this leaf's grad. Returns the hook's id.
  /// Throws for tensors that are not leaves or do not require grad.
  unsigned register_post_accumulate_grad_hook(std::function<void(const Tensor&)> hook) const;
  void remove_post_accumulate_grad_hook(unsigned id) const;
  int64_t _version() const;
  /// A tensor that shares the data, but neither the graph nor the version counter.
  Tensor data() const;
  Tensor tensor_data() const { return data(); }
  /// Makes this tensor refer to new_data's storage, sizes and dtype. Keeps its own version counter. Throws when the
  /// backends differ, for wrapper tensors, during a trace, inside vmap and grad, and for data that is not
  /// floating-point if this tensor requires grad.
  void set_data(const Tensor& new_data) const;

  // Conversions. The overloads of `to` come from the operator dictionary.
  Tensor toType(ScalarType dtype) const { return to(dtype); }
  Tensor cpu() const { return to(TensorOptions(Device(kCPU))); }
  /// On the current CUDA device. Throws when no CUDA backend is loaded.
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
  /// Takes an index known only at run time. Throws for a floating-point number and for a tensor with dimensions.
  Tensor operator[](const Scalar& index) const;
  Tensor operator[](const Tensor& index) const;

  /// The text that PyTorch prints: the values, and the dtype when it is not the default.
  std::string toString() const;

#include <shunt/generated/tensor_methods.inc>

  /// This tensor when it is contiguous in `memory_format`, else a contiguous copy. As in PyTorch, no operator is called
  /// for a tensor that is already contiguous. Modes and wrapper tensors see every call.
  Tensor contiguous(MemoryFormat memory_format = MemoryFormat::Contiguous) const {
    if (memory_format == MemoryFormat::Contiguous && isPlain() && impl_->is_contiguous() && !detail::underMode())
        [[likely]]
      return *this;
    return ops::contiguous::call(*this, memory_format);
  }
  // Indexing as in Python: x[i, j] and x[i, j] = value. Callers include <shunt/tensor/tensor_index.h>.
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value);

  /// The variance over one dimension. Without this overload, a number would also match var(bool unbiased).
  template <std::signed_integral Dim>
  Tensor var(Dim dim) const {
    return var(IntArrayRef(int64_t{dim}));
  }
  /// The standard deviation over one dimension.
  template <std::signed_integral Dim>
  Tensor std(Dim dim) const {
    return std(IntArrayRef(int64_t{dim}));
  }

  /// Returns func(*this, args...).
  template <class F, class... Args>
  decltype(auto) m(F func, Args&&... args) const {
    return func(*this, std::forward<Args>(args)...);
  }

  /// Random integers from `from` to the dtype's maximum. Without this overload, nullopt would also match the generator
  /// of random_(to).
  Tensor& random_(int64_t from, std::nullopt_t to) const {
    return random_(from, std::optional<int64_t>(to), std::nullopt);
  }

 private:
  TensorImpl& impl() const {
    if (!impl_.defined()) [[unlikely]]
      throwUndefined();
    return *impl_;
  }
  /// Whether the tensor is defined, in CPU memory and no wrapper.
  bool isPlain() const { return impl_.defined() && (impl_->key_set().raw() & ~kPlainCpuKeys.raw()) == 0; }
  /// Whether a trace may need to see that elements are read, also inside a level of grad or vmap.
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

/// A tensor over memory that the caller owns. The memory must outlive the tensor. Strides count elements and default to
/// contiguous ones. Throws for negative strides, and for a null pointer unless the tensor is empty.
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// As above, but calls `deleter(data)` when the last tensor that uses the memory is destroyed. When from_blob throws,
/// the caller still owns the memory.
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                           const TensorOptions& options = {});
SHUNT_API Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                           const TensorOptions& options = {});

/// A 0-dim tensor of the scalar's type: float64, int64 or bool. wrapped_scalar_tensor's result counts as a number in
/// type promotion.
SHUNT_API Tensor scalar_to_tensor(const Scalar& value, Device device = kCPU);
SHUNT_API Tensor wrapped_scalar_tensor(const Scalar& value, Device device = kCPU);

}  // namespace shunt
