#include "tests/parity/dtypes.h"

namespace parity {
namespace {

// Calls f with a null pointer of the dtype's C++ type.
template <class F>
auto visit(int dtype, F&& f) {
  switch (static_cast<shunt::ScalarType>(dtype)) {
#define PARITY_CASE(type, name, number, text) \
  case shunt::ScalarType::name:               \
    return f(static_cast<type*>(nullptr), #name, text);
    SHUNT_FORALL_SCALAR_TYPES(PARITY_CASE)
#undef PARITY_CASE
    default:
      break;
  }
  throw std::invalid_argument("dtype number " + std::to_string(dtype));
}

template <class T>
T load(const uint8_t* at) {
  T v;
  std::memcpy(&v, at, sizeof(T));
  return v;
}

}  // namespace

std::string dtypeName(int dtype) {
  return visit(dtype, [](auto*, const char*, const char* text) { return std::string(text); });
}

std::string dtypeConstant(int dtype) {
  return visit(dtype, [](auto*, const char* name, const char*) { return "k" + std::string(name); });
}

int dtypeFromName(std::string_view name) {
  for (const int d : allDtypes())
    if (dtypeName(d) == name) return d;
  return -1;
}

void storeElement(int dtype, double value, uint8_t* at) {
  visit(dtype, [&](auto* type, const char*, const char*) {
    using T = std::remove_pointer_t<decltype(type)>;
    T v;
    if constexpr (std::is_same_v<T, bool>)
      v = value != 0;
    else if constexpr (std::is_integral_v<T>)
      v = static_cast<T>(static_cast<int64_t>(value));
    else if constexpr (std::is_same_v<T, double>)
      v = value;
    else
      v = T(static_cast<float>(value));
    std::memcpy(at, &v, sizeof(T));
  });
}

double loadElement(int dtype, const uint8_t* at) {
  return visit(dtype, [&](auto* type, const char*, const char*) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>)
      return static_cast<double>(load<T>(at));
    else
      return static_cast<double>(static_cast<float>(load<T>(at)));
  });
}

int64_t loadInteger(int dtype, const uint8_t* at) {
  return visit(dtype, [&](auto* type, const char*, const char*) -> int64_t {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(load<T>(at));
    else
      return static_cast<int64_t>(static_cast<float>(load<T>(at)));
  });
}

double epsilonOf(int dtype) {
  return visit(dtype, [](auto* type, const char*, const char*) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_integral_v<T>)
      return 0.0;
    else
      return static_cast<double>(std::numeric_limits<T>::epsilon());
  });
}

}  // namespace parity
