// Element types (dtypes): the one table, and what is known of each.
//
// Numbers and names are PyTorch's, so that they may be exchanged as integers. Types outside the table (complex,
// quantized) are named for error messages and have no kernels here. Constants only; any thread.
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
  // Known by number only; every operator refuses them.
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
/// Names with widths.
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
/// Bytes of an element, four bits for each type with kernels, from the lowest on.
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

/// Bytes of one element; 0 for types without kernels. From a word: a switch would be ten blocks in each function that
/// asks, and thunks are made of many such functions.
constexpr int64_t elementSize(ScalarType t) {
  const auto number = static_cast<uint8_t>(t);
  return number < 16 ? static_cast<int64_t>(detail::kElementSizes >> 4 * number & 15) : 0;
}

/// Whether tensors can have it, and which kind of number it is.
constexpr bool isSupportedType(ScalarType t) { return elementSize(t) != 0; }
constexpr bool isFloatingType(ScalarType t) { return t == kHalf || t == kFloat || t == kDouble || t == kBFloat16; }
constexpr bool isReducedFloatingType(ScalarType t) { return t == kHalf || t == kBFloat16; }
constexpr bool isComplexType(ScalarType t) {
  return t == ScalarType::ComplexHalf || t == ScalarType::ComplexFloat || t == ScalarType::ComplexDouble;
}
/// Whether its elements are integers; bools only with include_bool.
constexpr bool isIntegralType(ScalarType t, bool include_bool) {
  return t == kByte || t == kChar || t == kShort || t == kInt || t == kLong || (include_bool && t == kBool);
}

/// PyTorch's C++ name ("Float"), as error messages show it.
SHUNT_API const char* toString(ScalarType t);
/// PyTorch's Python name ("float32"), as printing shows it.
SHUNT_API const char* dtypeName(ScalarType t);
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }

/// The smallest type both can be promoted to, by PyTorch's lattice. Throws on types without kernels.
SHUNT_API ScalarType promoteTypes(ScalarType a, ScalarType b);
/// Whether a result of type `from` may be written into `to` (bool -> int -> float categories only grow).
SHUNT_API bool canCast(ScalarType from, ScalarType to);

/// The type newly made floating-point tensors get; a process-wide setting, kFloat at start.
SHUNT_API ScalarType get_default_dtype();
SHUNT_API void set_default_dtype(ScalarType t);

namespace detail {
/// Throws NotImplementedError: the operator `op` has no kernel for the dtype.
[[noreturn]] SHUNT_API SHUNT_COLD void throwNotImplementedFor(const char* op, ScalarType t);
}  // namespace detail

/// Calls `f(T{})`-style code for one of the listed types: f is a generic lambda that takes std::type_identity<T>.
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

/// Calls f(T{}) with the C++ type of a floating dtype; throws for others, naming `op`.
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
