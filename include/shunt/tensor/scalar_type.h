// ScalarType: the element types (dtypes), in one table, and their properties.
//
// Numbers and names are PyTorch's, so that programs can exchange them as integers. Types outside the table (complex,
// quantized) are named for error messages only and have no kernels. Constants only; any thread.
#pragma once

#include <shunt/core/error.h>
#include <shunt/tensor/bfloat16.h>
#include <shunt/tensor/half.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace shunt {

// X(C++ type, name, number, PyTorch's dtype name)
#define SHUNT_FORALL_SCALAR_TYPES(X)   \
  X(uint8_t, Byte, 0, "uint8")         \
  X(int8_t, Char, 1, "int8")           \
  X(int16_t, Short, 2, "int16")        \
  X(int32_t, Int, 3, "int32")          \
  X(int64_t, Long, 4, "int64")         \
  X(::shunt::Half, Half, 5, "float16") \
  X(float, Float, 6, "float32")        \
  X(double, Double, 7, "float64")      \
  X(bool, Bool, 11, "bool")            \
  X(::shunt::BFloat16, BFloat16, 15, "bfloat16")

/// Element types, with PyTorch's numbers.
enum class ScalarType : int8_t {
#define SHUNT_DTYPE(type, name, number, text) name = number,
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
  // Known by number only. Every operator throws for them.
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  Undefined = 18,
};

#define SHUNT_DTYPE(type, name, number, text) inline constexpr ScalarType k##name = ScalarType::name;
SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
/// Names that include the width in bits.
inline constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong,
                            kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
inline constexpr int kNumScalarTypes = 19;

namespace detail {
template <class T>
struct ScalarTypeOf;
#define SHUNT_DTYPE(type, name, number, text)             \
  template <>                                             \
  struct ScalarTypeOf<type> {                             \
    static constexpr ScalarType value = ScalarType::name; \
  };
SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
}  // namespace detail

/// The ScalarType of a C++ element type.
template <class T>
inline constexpr ScalarType scalar_type_of = detail::ScalarTypeOf<T>::value;

namespace detail {
/// The bytes of an element of each type with kernels: four bits per type number, from the lowest bits.
inline constexpr uint64_t kElementSizes = [] {
  uint64_t sizes = 0;
#define SHUNT_DTYPE(type, name, number, text)                                                        \
  static_assert(int{number} < 16 && sizeof(type) < 16, "the sizes of elements don't fit in a word"); \
  sizes |= uint64_t{sizeof(type)} << 4 * int{number};
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
  return sizes;
}();
}  // namespace detail

/// Bytes of one element; 0 for types without kernels. Looked up in a word, because a switch would add ten blocks to
/// each calling function, and thunks consist of many such functions.
constexpr int64_t elementSize(ScalarType t) {
  const auto number = static_cast<uint8_t>(t);
  return number < 16 ? static_cast<int64_t>(detail::kElementSizes >> 4 * number & 15) : 0;
}

/// Whether tensors can have the type, and the kind of its numbers.
constexpr bool isSupportedType(ScalarType t) { return elementSize(t) != 0; }
constexpr bool isFloatingType(ScalarType t) { return t == kHalf || t == kFloat || t == kDouble || t == kBFloat16; }
constexpr bool isReducedFloatingType(ScalarType t) { return t == kHalf || t == kBFloat16; }
constexpr bool isComplexType(ScalarType t) {
  return t == ScalarType::ComplexHalf || t == ScalarType::ComplexFloat || t == ScalarType::ComplexDouble;
}
/// Whether the elements are integers. Bool counts only with include_bool.
constexpr bool isIntegralType(ScalarType t, bool include_bool) {
  return t == kByte || t == kChar || t == kShort || t == kInt || t == kLong || (include_bool && t == kBool);
}

/// PyTorch's C++ name ("Float"), used in error messages.
SHUNT_API const char* toString(ScalarType t);
/// PyTorch's Python name ("float32"), used when tensors are printed.
SHUNT_API const char* dtypeName(ScalarType t);
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }

/// The smallest type that both can be promoted to, by PyTorch's lattice. Throws for types without kernels.
SHUNT_API ScalarType promoteTypes(ScalarType a, ScalarType b);
/// Whether a result of type `from` may be written to type `to`. The category must not shrink (bool, int, float).
SHUNT_API bool canCast(ScalarType from, ScalarType to);

/// The dtype of new floating-point tensors. A process-wide setting, initially kFloat. Setting it throws for
/// types that are not floating-point.
SHUNT_API ScalarType get_default_dtype();
SHUNT_API void set_default_dtype(ScalarType t);

namespace detail {
/// Throws NotImplementedError: the operator `op` has no kernel for the dtype.
[[noreturn]] SHUNT_API SHUNT_COLD void throwNotImplementedFor(const char* op, ScalarType t);
}  // namespace detail

/// Calls f(std::type_identity<T>{}) with the C++ type T of a dtype. `f` is a generic lambda. Throws for dtypes without
/// kernels and names `op`.
template <class F>
decltype(auto) dispatchAllTypes(ScalarType t, const char* op, F&& f) {
  switch (t) {
#define SHUNT_DTYPE(type, name, number, text) \
  case ScalarType::name:                      \
    return f(std::type_identity<type>{});
    SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
    default:
      detail::throwNotImplementedFor(op, t);
  }
}

/// The same for floating-point dtypes. Throws for others and names `op`.
template <class F>
decltype(auto) dispatchFloatingTypes(ScalarType t, const char* op, F&& f) {
  switch (t) {
    case kHalf:
      return f(std::type_identity<Half>{});
    case kBFloat16:
      return f(std::type_identity<BFloat16>{});
    case kFloat:
      return f(std::type_identity<float>{});
    case kDouble:
      return f(std::type_identity<double>{});
    default:
      detail::throwNotImplementedFor(op, t);
  }
}

}  // namespace shunt
