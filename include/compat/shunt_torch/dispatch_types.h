// AT_DISPATCH_*: instantiate the code of a kernel for each dtype of a list. The code sees the dtype's C++ type as
// `scalar_t`.
//
// Shunt has no complex and no quantized tensors.
// - Macros whose lists contain complex types leave these out. The kernel compiles; dispatching on another dtype throws.
// - Macros for quantized types alone aren't defined.
#pragma once

#include <shunt/tensor/scalar_type.h>

#include <shunt_torch/legacy_types.h>

#include <type_traits>

namespace shunt {

/// The dtype of a C++ type and the C++ type of a dtype, by PyTorch's names.
template <class T>
using CppTypeToScalarType = detail::ScalarTypeOf<T>;
template <ScalarType>
struct ScalarTypeToCPPType;
#define SHUNT_DTYPE(cpp, name, number, text)     \
  template <>                                    \
  struct ScalarTypeToCPPType<ScalarType::name> { \
    using type = cpp;                            \
  };
SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
template <ScalarType t>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<t>::type;

/// The type in which sums of T are accumulated, on a CPU or (`is_cuda`) on a GPU.
template <class T, bool is_cuda>
using acc_type = std::conditional_t<
    std::is_same_v<T, bool>, bool,
    std::conditional_t<std::is_integral_v<T>, int64_t,
                       std::conditional_t<sizeof(T) == 2 || (is_cuda && sizeof(T) == 4), float, double>>>;
/// The type that arithmetic on T is done in.
template <class T>
using opmath_type = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

namespace detail {
inline ScalarType dispatchedType(ScalarType t) { return t; }
inline ScalarType dispatchedType(const DeprecatedTypeProperties& t) { return t.scalarType(); }
}  // namespace detail

}  // namespace shunt

// The arguments after the alias are a function without parameters (it may contain commas), called where the alias is
// visible.
#define SHUNT_TORCH_CASE(dtype, alias, ...)                                \
  case dtype: {                                                            \
    using alias [[maybe_unused]] = ::shunt::ScalarTypeToCPPTypeT<(dtype)>; \
    return __VA_ARGS__();                                                  \
  }
#define AT_DISPATCH_CASE(dtype, ...) SHUNT_TORCH_CASE(dtype, scalar_t, __VA_ARGS__)
/// The error for a dtype without a case contains `name`. Declares no variable, as nested switches would shadow it.
#define AT_DISPATCH_SWITCH(dtype, name, ...)                                                   \
  [&] {                                                                                        \
    switch (::shunt::detail::dispatchedType(dtype)) {                                          \
      __VA_ARGS__                                                                              \
      default:                                                                                 \
        ::shunt::detail::throwNotImplementedFor(name, ::shunt::detail::dispatchedType(dtype)); \
    }                                                                                          \
  }()

// clang-format off
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::shunt::kDouble, __VA_ARGS__) AT_DISPATCH_CASE(::shunt::kFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                                                       \
  AT_DISPATCH_CASE(::shunt::kByte, __VA_ARGS__) AT_DISPATCH_CASE(::shunt::kChar, __VA_ARGS__)      \
  AT_DISPATCH_CASE(::shunt::kShort, __VA_ARGS__) AT_DISPATCH_CASE(::shunt::kInt, __VA_ARGS__)      \
  AT_DISPATCH_CASE(::shunt::kLong, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE(::shunt::kHalf, __VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

// The lists with one, two and three further types.
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(a, ...) \
  AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, ...) \
  AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES_AND(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(a, b, c, ...) \
  AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES_AND2(b, c, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(a, ...) \
  AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(a, ...) \
  AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(a, b, ...) \
  AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE_ALL_TYPES_AND(b, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(a, b, c, ...) \
  AT_DISPATCH_CASE(a, __VA_ARGS__) AT_DISPATCH_CASE_ALL_TYPES_AND2(b, c, __VA_ARGS__)

// The lists with complex types, without these.
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND(a, ...) AT_DISPATCH_CASE_FLOATING_TYPES_AND(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(a, b, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND2(a, b, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(a, b, c, ...) \
  AT_DISPATCH_CASE_FLOATING_TYPES_AND3(a, b, c, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(a, ...) AT_DISPATCH_CASE_ALL_TYPES_AND(a, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(a, b, ...) AT_DISPATCH_CASE_ALL_TYPES_AND2(a, b, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(a, b, c, ...) AT_DISPATCH_CASE_ALL_TYPES_AND3(a, b, c, __VA_ARGS__)
// clang-format on

// The lists as whole switches. Arguments: the further types, then dtype, name and function.
#define SHUNT_TORCH_SWITCH(list, dtype, name, ...) AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##list(__VA_ARGS__))
#define SHUNT_TORCH_SWITCH_AND(list, a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##list(a, __VA_ARGS__))
#define SHUNT_TORCH_SWITCH_AND2(list, a, b, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##list(a, b, __VA_ARGS__))
#define SHUNT_TORCH_SWITCH_AND3(list, a, b, c, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_##list(a, b, c, __VA_ARGS__))

#define AT_DISPATCH_FLOATING_TYPES(...) SHUNT_TORCH_SWITCH(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(...) SHUNT_TORCH_SWITCH(FLOATING_TYPES_AND_HALF, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(...) SHUNT_TORCH_SWITCH_AND(FLOATING_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(...) SHUNT_TORCH_SWITCH_AND2(FLOATING_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(...) SHUNT_TORCH_SWITCH_AND3(FLOATING_TYPES_AND3, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(...) SHUNT_TORCH_SWITCH(INTEGRAL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(...) SHUNT_TORCH_SWITCH_AND(INTEGRAL_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(...) SHUNT_TORCH_SWITCH(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(...) SHUNT_TORCH_SWITCH_AND(ALL_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(...) SHUNT_TORCH_SWITCH_AND2(ALL_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(...) SHUNT_TORCH_SWITCH_AND3(ALL_TYPES_AND3, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(...) SHUNT_TORCH_SWITCH(FLOATING_TYPES, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(...) SHUNT_TORCH_SWITCH_AND(FLOATING_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(...) SHUNT_TORCH_SWITCH_AND(FLOATING_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(...) SHUNT_TORCH_SWITCH_AND2(FLOATING_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(...) SHUNT_TORCH_SWITCH_AND3(FLOATING_TYPES_AND3, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(...) SHUNT_TORCH_SWITCH(ALL_TYPES, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(...) SHUNT_TORCH_SWITCH_AND(ALL_TYPES_AND, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(...) SHUNT_TORCH_SWITCH_AND2(ALL_TYPES_AND2, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(...) SHUNT_TORCH_SWITCH_AND3(ALL_TYPES_AND3, __VA_ARGS__)

/// For the two dtypes of indices, as `index_t`.
#define AT_DISPATCH_INDEX_TYPES(dtype, name, ...)                          \
  AT_DISPATCH_SWITCH(dtype, name,                                          \
                     SHUNT_TORCH_CASE(::shunt::kInt, index_t, __VA_ARGS__) \
                         SHUNT_TORCH_CASE(::shunt::kLong, index_t, __VA_ARGS__))
