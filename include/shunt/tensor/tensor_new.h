// shunt::tensor(...): a tensor from numbers in the source: a number, a vector or array, or a nested initializer list.
//
//   tensor(5)   tensor({1., 2.})   tensor({{1, 2}, {3, 4}}, kFloat)   tensor(std::vector<float>{...})
//
// The values are copied. Any thread. Unless the options name a dtype, it is chosen as torch::tensor does:
// - bool for bools, int64 for integers of 32 and 64 bits, the default dtype for float and double;
// - for other C++ types, the dtype of that type.
// Lists of mixed types are an error.
#pragma once

#include <shunt/tensor/tensor.h>

#include <complex>
#include <initializer_list>
#include <iosfwd>
#include <vector>

namespace shunt {

namespace detail {

/// The argument of shunt::tensor. It lives for one call and refers to the caller's lists and arrays.
class SHUNT_API TensorData {
 public:
  /// An empty list.
  TensorData() : sizes_{0} {}
  template <class T>
    requires requires { ScalarTypeOf<T>::value; }
  TensorData(T value) : dtype_(scalar_type_of<T>), scalar_(value) {}
  TensorData(long long value) : TensorData(static_cast<int64_t>(value)) {}
  template <class T>
  TensorData(const std::complex<T>&) {
    throwComplex();
  }
  template <class T>
  TensorData(const std::vector<std::complex<T>>&) {
    throwComplex();
  }
  TensorData(std::initializer_list<TensorData> list);
  template <class T>
    requires requires { ScalarTypeOf<T>::value; }
  TensorData(ArrayRef<T> values)
      : dtype_(scalar_type_of<T>), sizes_{static_cast<int64_t>(values.size())}, array_(values.data()) {}
  template <class T>
    requires(requires { ScalarTypeOf<T>::value; } && !std::is_same_v<T, bool>)
  TensorData(const std::vector<T>& values) : TensorData(ArrayRef<T>(values)) {}

  IntArrayRef sizes() const { return sizes_; }
  /// The result's dtype when the options name none.
  ScalarType inferredType() const;
  // As in torch::detail::TensorDataContainer. scalar(), init_list() and tensor() throw for data of another kind.
  bool is_scalar() const { return array_ == nullptr && sizes_.empty(); }
  bool is_init_list() const { return array_ == nullptr && !sizes_.empty(); }
  bool is_tensor() const { return array_ != nullptr; }
  const Scalar& scalar() const;
  std::initializer_list<TensorData> init_list() const;
  Tensor tensor() const;
  friend SHUNT_API std::ostream& operator<<(std::ostream& out, const TensorData& data);
  /// Writes the values in row-major order to `t`, which must be a contiguous CPU tensor of sizes().
  void writeTo(const Tensor& t) const;

 private:
  [[noreturn]] static void throwComplex();
  template <class T>
  T* writeValues(T* out) const;

  std::optional<ScalarType> dtype_;  // the elements' dtype; nullopt for an empty list
  std::vector<int64_t> sizes_;
  Scalar scalar_;
  const void* array_ = nullptr;
  std::initializer_list<TensorData> list_;
};

}  // namespace detail

/// Makes a tensor of the values. `options` may name dtype, device and requires_grad. Throws when nested lists differ in
/// length or type.
SHUNT_API Tensor tensor(const detail::TensorData& data, const TensorOptions& options = {});

}  // namespace shunt
