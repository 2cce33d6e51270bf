#include "tools/kernel_lint/math_names.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>

namespace shunt::lint {
namespace {

// Exactly rounding, with one right answer: IEEE 754 fixes every bit but a NaN's payload.
constexpr const char* kExact[] = {"sqrt", "fabs",      "copysign", "floor",     "ceil", "trunc",
                                  "rint", "nearbyint", "round",    "roundeven", "fma"};

constexpr const char* kInexact[] = {
    "acos",        "acosh",     "asin",       "asinh", "atan",  "atan2",     "atanh",  "cbrt",  "cos",     "cosh",
    "drem",        "erf",       "erfc",       "exp",   "exp10", "exp2",      "expm1",  "fdim",  "fmax",    "fmin",
    "fmod",        "frexp",     "gamma",      "hypot", "ilogb", "j0",        "j1",     "jn",    "ldexp",   "lgamma",
    "llrint",      "llround",   "log",        "log10", "log1p", "log2",      "logb",   "lrint", "lround",  "modf",
    "nan",         "nextafter", "nexttoward", "pow",   "pow10", "remainder", "remquo", "scalb", "scalbln", "scalbn",
    "significand", "sin",       "sincos",     "sinh",  "tan",   "tanh",      "tgamma", "y0",    "y1",      "yn"};

// With the suffixes of float and long double.
template <size_t N>
llvm::StringSet<> withSuffixes(const char* const (&names)[N]) {
  llvm::StringSet<> all;
  for (llvm::StringRef name : names) {
    all.insert(name);
    all.insert((name + "f").str());
    all.insert((name + "l").str());
  }
  return all;
}

bool holdsFloatingPoint(const llvm::Type* type) {
  if (const auto* aggregate = llvm::dyn_cast<llvm::StructType>(type)) {
    return llvm::any_of(aggregate->elements(), holdsFloatingPoint);
  }
  return type->isFPOrFPVectorTy();
}

bool isExactIntrinsic(llvm::Intrinsic::ID id) {
  using namespace llvm;
  switch (id) {
    case Intrinsic::sqrt:
    case Intrinsic::fabs:
    case Intrinsic::copysign:
    case Intrinsic::floor:
    case Intrinsic::ceil:
    case Intrinsic::trunc:
    case Intrinsic::rint:
    case Intrinsic::nearbyint:
    case Intrinsic::round:
    case Intrinsic::roundeven:
    case Intrinsic::fma:
      return true;
    default:
      return false;
  }
}

// Moves values and computes nothing.
bool isDataMovement(llvm::StringRef name) {
  return name.starts_with("llvm.masked.") || name.starts_with("llvm.vector.extract") ||
         name.starts_with("llvm.vector.insert") || name.starts_with("llvm.vector.reverse") ||
         name.starts_with("llvm.vector.interleave") || name.starts_with("llvm.vector.deinterleave");
}

}  // namespace

bool isExactMathFunction(llvm::StringRef symbol) {
  static const llvm::StringSet<> names = withSuffixes(kExact);
  return names.contains(symbol);
}

bool isMathFunction(llvm::StringRef symbol) {
  static const llvm::StringSet<> inexact = withSuffixes(kInexact);
  if (symbol.starts_with("_ZGV")) return true;  // libmvec, SLEEF
  llvm::StringRef base = symbol;
  if (base.consume_front("__")) base.consume_back("_finite");
  base.consume_back("_r");
  return inexact.contains(base) || isExactMathFunction(base);
}

bool isInexactIntrinsic(const llvm::Function& intrinsic) {
  const llvm::StringRef name = intrinsic.getName();
  if (isExactIntrinsic(intrinsic.getIntrinsicID()) || isDataMovement(name)) return false;
  if (name.starts_with("llvm.lrint") || name.starts_with("llvm.llrint") || name.starts_with("llvm.lround") ||
      name.starts_with("llvm.llround")) {
    return true;
  }
  return holdsFloatingPoint(intrinsic.getReturnType());
}

}  // namespace shunt::lint
