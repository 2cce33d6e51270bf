// AT_DISPATCH_...: the body of a lambda without result for the C++ type of a dtype, which it sees as scalar_t. Any
// thread.
#pragma once

#include <shunt/shunt.h>

#include <type_traits>

// `condition` says of SHUNT_T whether it is among the types.
#define SHUNT_TORCH_DISPATCH(condition, dtype, name, ...)                                    \
  ::shunt::dispatchAllTypes(dtype, name, [&]<class SHUNT_T>(::std::type_identity<SHUNT_T>) { \
    if constexpr (condition) {                                                               \
      using scalar_t [[maybe_unused]] = SHUNT_T;                                             \
      __VA_ARGS__();                                                                         \
    } else {                                                                                 \
      ::shunt::detail::throwNotImplementedFor(name, dtype);                                  \
    }                                                                                        \
  })
#define SHUNT_TORCH_IS_NUMBER (::std::is_arithmetic_v<SHUNT_T> && !::std::is_same_v<SHUNT_T, bool>)

#define AT_DISPATCH_FLOATING_TYPES(...) SHUNT_TORCH_DISPATCH(::std::is_floating_point_v<SHUNT_T>, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(...) \
  SHUNT_TORCH_DISPATCH(SHUNT_TORCH_IS_NUMBER&& ::std::is_integral_v<SHUNT_T>, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(...) SHUNT_TORCH_DISPATCH(SHUNT_TORCH_IS_NUMBER, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(...) \
  SHUNT_TORCH_DISPATCH((::std::is_floating_point_v<SHUNT_T> || ::std::is_same_v<SHUNT_T, ::shunt::Half>), __VA_ARGS__)
