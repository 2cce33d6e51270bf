#include "src/core/settings.h"

#include <shunt/tensor/scalar.h>
#include <shunt/tensor/scalar_type.h>

#include <array>

namespace shunt {
namespace {

constinit ProcessSetting<Setting::kDefaultDtype, ScalarType> default_dtype{kFloat};

struct Names {
  const char* cpp;
  const char* python;
};

constexpr std::array<Names, kNumScalarTypes> makeNames() {
  std::array<Names, kNumScalarTypes> out{};
  for (auto& n : out) n = {"Undefined", "undefined"};
#define SHUNT_DTYPE(type, name, number, text) out[number] = {#name, text};
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
  out[8] = {"ComplexHalf", "complex32"};
  out[9] = {"ComplexFloat", "complex64"};
  out[10] = {"ComplexDouble", "complex128"};
  out[12] = {"QInt8", "qint8"};
  out[13] = {"QUInt8", "quint8"};
  out[14] = {"QInt32", "qint32"};
  return out;
}
constexpr auto kNames = makeNames();

// PyTorch's promotion lattice as ranks: within a category the higher rank wins; unsigned with signed of the same size
// goes one up; float16 with bfloat16 gives float32.
constexpr int rank(ScalarType t) {
  switch (t) {
    case kBool:
      return 0;
    case kByte:
      return 1;
    case kChar:
      return 2;
    case kShort:
      return 3;
    case kInt:
      return 4;
    case kLong:
      return 5;
    case kHalf:
      return 6;
    case kBFloat16:
      return 7;
    case kFloat:
      return 8;
    case kDouble:
      return 9;
    default:
      return -1;
  }
}

void requireKernels(ScalarType t) {
  if (isComplexType(t))
    throw NotImplementedError(detail::str("complex tensors are not supported by Shunt: got dtype ", t,
                                          "; split the numbers into real and imaginary parts"));
  if (!isSupportedType(t)) throw NotImplementedError(detail::str("no kernels exist for dtype ", t));
}

}  // namespace

const char* toString(ScalarType t) {
  const auto i = static_cast<size_t>(t);
  return i < kNames.size() ? kNames[i].cpp : "Undefined";
}

const char* dtypeName(ScalarType t) {
  const auto i = static_cast<size_t>(t);
  return i < kNames.size() ? kNames[i].python : "undefined";
}

ScalarType promoteTypes(ScalarType a, ScalarType b) {
  if (a == b && isSupportedType(a)) return a;
  if (a == ScalarType::Undefined) return b;
  if (b == ScalarType::Undefined) return a;
  requireKernels(a);
  requireKernels(b);
  const ScalarType low = rank(a) < rank(b) ? a : b;
  const ScalarType high = rank(a) < rank(b) ? b : a;
  if (low == kByte && high == kChar) return kShort;
  if (low == kHalf && high == kBFloat16) return kFloat;
  return high;
}

bool canCast(ScalarType from, ScalarType to) {
  if (isComplexType(from) && !isComplexType(to)) return false;
  if (isFloatingType(from) && isIntegralType(to, true)) return false;
  return from == kBool || to != kBool;
}

ScalarType get_default_dtype() { return default_dtype.read(); }

void set_default_dtype(ScalarType t) {
  SHUNT_CHECK(isFloatingType(t), "set_default_dtype: only floating-point types can be the default, got ", t);
  default_dtype.set(t, toString(t));
}

namespace detail {

void throwNotImplementedFor(const char* op, ScalarType t) {
  throw NotImplementedError(str("\"", op, "\" not implemented for '", t, "'"));
}

}  // namespace detail

}  // namespace shunt
