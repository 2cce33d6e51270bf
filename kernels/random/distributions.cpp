// In-place draws: uniform_, normal_, random_, bernoulli_.
#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/view_util.h"
#include "kernels/random/draw.h"

#include <shunt/core/tls.h>
#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

#include <limits>

namespace shunt::native {

namespace {

template <class T>
constexpr int kDigits = std::numeric_limits<T>::digits;

/// The widest value of T as a double.
template <class T>
double maxOf() {
  return cast<double>(std::numeric_limits<T>::max());
}

/// In [0, 1): as many bits as T's significand holds, so that no value rounds up to 1.
template <class T>
SHUNT_ALWAYS_INLINE opmath_t<T> unitInterval(uint64_t bits) {
  constexpr uint64_t kScale = uint64_t{1} << kDigits<T>;
  return static_cast<opmath_t<T>>(static_cast<int64_t>(bits & (kScale - 1))) *
         (opmath_t<T>{1} / static_cast<opmath_t<T>>(kScale));
}

template <class T>
void checkUniformBounds(double from, double to) {
  const ScalarType dtype = scalar_type_of<T>;
  SHUNT_CHECK(from >= -maxOf<T>() && from <= maxOf<T>(), "from is out of bounds for ", dtype, ": ", from);
  SHUNT_CHECK(to >= -maxOf<T>() && to <= maxOf<T>(), "to is out of bounds for ", dtype, ": ", to);
  SHUNT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  SHUNT_CHECK(to - from <= maxOf<T>(), "uniform_ expects to-from <= std::numeric_limits<", dtype,
              ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
}

template <class T>
struct DrawNormal {
  using C = opmath_t<T>;
  static constexpr int kPerBlock = sizeof(C) == 8 ? 2 : 4;
  C mean, std;
  void operator()(const philox::Block* blocks, int64_t count, T* out) const {
    if constexpr (std::is_same_v<T, double>) {
      drawLoops().normalDouble(out, blocks, count, mean, std);
    } else if constexpr (std::is_same_v<T, float>) {
      drawLoops().normalFloat(out, blocks, count, mean, std);
    } else {
      float values[kDrawBlocks * kPerBlock];
      drawLoops().normalFloat(values, blocks, count, mean, std);
      for (int64_t i = 0; i < count * kPerBlock; ++i) out[i] = cast<T>(values[i]);
    }
  }
};

/// [0, range) by the high half of a product: the bias is below range / 2^64.
SHUNT_ALWAYS_INLINE uint64_t scaled(uint64_t bits, uint64_t range) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64);
}

/// The largest integer `random_()` gives: all that fit, for floating types those without rounding.
template <class T>
uint64_t largestInteger() {
  if constexpr (std::is_same_v<T, bool>)
    return 1;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<uint64_t>(std::numeric_limits<T>::max());
  else
    return uint64_t{1} << kDigits<T>;
}

/// Integers first, first + 1, ... first + range - 1; range 0 stands for 2^64.
void randomRange(const Tensor& self, const Generator& generator, uint64_t first, uint64_t range) {
  dispatchAllTypes(self.dtype(), "random_", [&]<class T>(std::type_identity<T>) {
    drawTensor<T>(self, generator, drawWide<T>([=](uint64_t bits) {
                    return cast<T>(static_cast<int64_t>(first + (range == 0 ? bits : scaled(bits, range))));
                  }));
  });
}

void checkInRange(ScalarType dtype, int64_t value, const char* what) {
  const bool fits = dispatchAllTypes(dtype, "random_", [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>)
      return value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
             value <= static_cast<int64_t>(std::numeric_limits<T>::max());
    else
      return static_cast<double>(value) >= -maxOf<T>() && static_cast<double>(value) <= maxOf<T>();
  });
  SHUNT_CHECK(fits, what, " is out of bounds for ", dtype, ": ", value);
}

/// The last value (inclusive) of random_(from, to); all checks of both.
int64_t checkedLast(ScalarType dtype, int64_t from, std::optional<int64_t> to) {
  checkInRange(dtype, from, "from");
  if (!to) {
    const uint64_t largest =
        dispatchAllTypes(dtype, "random_", []<class T>(std::type_identity<T>) { return largestInteger<T>(); });
    SHUNT_CHECK(from <= static_cast<int64_t>(largest),
                "random_ expects 'from' casted to dtype to be less than or equal to ",
                "the largest value, but got from=", from, " > ", largest);
    return static_cast<int64_t>(largest);
  }
  SHUNT_CHECK(from < *to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", *to);
  checkInRange(dtype, *to - 1, "to - 1");
  return *to - 1;
}

void checkProbability(double p) {
  SHUNT_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
}

/// (bits >> 11) * 2^-53 < p, as a comparison of integers with a bound that is made once.
struct Chance {
  explicit Chance(double p) : bound(static_cast<int64_t>(p * 0x1p53)) {
    if (static_cast<double>(bound) < p * 0x1p53) ++bound;
  }
  SHUNT_ALWAYS_INLINE bool happens(uint64_t bits) const { return static_cast<int64_t>(bits >> 11) < bound; }
  int64_t bound;  // the smallest integer not below p * 2^53
};

void checkStd(double std) { SHUNT_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std); }

void checkProbabilities(const TensorImpl& self, const TensorImpl& p) {
  if (!isFloatingType(p.dtype()))
    throw NotImplementedError(
        detail::str("bernoulli_: the tensor of probabilities must be of a floating dtype, but got ", p.dtype()));
  SHUNT_CHECK(p.device() == self.device(), "bernoulli_: expected p on device ", self.device(), ", but got ",
              p.device());
}

}  // namespace

Tensor& uniform_meta_(Tensor& self, double from, double to, std::optional<Generator> generator) {
  checkTarget("uniform_", implOf(self, "uniform_"), generator);
  dispatchFloatingTypes(implOf(self, "uniform_").dtype(), "check_uniform_bounds",
                        [&]<class T>(std::type_identity<T>) { checkUniformBounds<T>(from, to); });
  return self;
}

Tensor& uniform_cpu_(Tensor& self, double from, double to, std::optional<Generator> generator) {
  uniform_meta_(self, from, to, std::nullopt);
  const Generator& source = cpuGenerator(generator);
  dispatchFloatingTypes(self.dtype(), "uniform_", [&]<class T>(std::type_identity<T>) {
    using C = opmath_t<T>;
    const auto low = static_cast<C>(from);
    const auto width = static_cast<C>(to) - low;
    const auto value = [=](auto bits) { return cast<T>(unitInterval<T>(bits) * width + low); };
    if constexpr (sizeof(T) == 8)
      drawTensor<T>(self, source, drawWide<T>(value));
    else
      drawTensor<T>(self, source, drawNarrow<T>(value));
  });
  return self;
}

Tensor& normal_meta_(Tensor& self, double, double std, std::optional<Generator> generator) {
  checkTarget("normal_", implOf(self, "normal_"), generator);
  checkStd(std);
  dispatchFloatingTypes(implOf(self, "normal_").dtype(), "normal", [](auto) {});
  return self;
}

Tensor& normal_cpu_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  normal_meta_(self, mean, std, std::nullopt);
  dispatchFloatingTypes(self.dtype(), "normal", [&]<class T>(std::type_identity<T>) {
    using C = opmath_t<T>;
    drawTensor<T>(self, cpuGenerator(generator), DrawNormal<T>{static_cast<C>(mean), static_cast<C>(std)});
  });
  return self;
}

Tensor& random_meta_(Tensor& self, std::optional<Generator> generator) {
  checkTarget("random_", implOf(self, "random_"), generator);
  return self;
}

Tensor& random_cpu_(Tensor& self, std::optional<Generator> generator) {
  random_meta_(self, std::nullopt);
  const uint64_t largest =
      dispatchAllTypes(self.dtype(), "random_", []<class T>(std::type_identity<T>) { return largestInteger<T>(); });
  randomRange(self, cpuGenerator(generator), 0, largest + 1);
  return self;
}

Tensor& random_from_meta_(Tensor& self, int64_t from, std::optional<int64_t> to, std::optional<Generator> generator) {
  checkTarget("random_", implOf(self, "random_"), generator);
  checkedLast(implOf(self, "random_").dtype(), from, to);
  return self;
}

Tensor& random_from_cpu_(Tensor& self, int64_t from, std::optional<int64_t> to, std::optional<Generator> generator) {
  checkTarget("random_", implOf(self, "random_"), std::nullopt);
  const int64_t last = checkedLast(self.dtype(), from, to);
  const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
  randomRange(self, cpuGenerator(generator), static_cast<uint64_t>(from), range);
  return self;
}

Tensor& random_to_(Tensor& self, int64_t to, std::optional<Generator> generator) {
  implOf(self, "random_");
  AutoDispatchBelowAutograd guard;
  return self.random_(0, to, generator);
}

Tensor& bernoulli_meta_(Tensor& self, double p, std::optional<Generator> generator) {
  checkTarget("bernoulli_", implOf(self, "bernoulli_"), generator);
  checkProbability(p);
  return self;
}

Tensor& bernoulli_cpu_(Tensor& self, double p, std::optional<Generator> generator) {
  bernoulli_meta_(self, p, std::nullopt);
  dispatchAllTypes(self.dtype(), "bernoulli_", [&]<class T>(std::type_identity<T>) {
    drawTensor<T>(self, cpuGenerator(generator),
                  drawWide<T>([chance = Chance(p)](uint64_t bits) { return cast<T>(chance.happens(bits)); }));
  });
  return self;
}

Tensor& bernoulli_tensor_meta_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  checkTarget("bernoulli_", implOf(self, "bernoulli_"), generator);
  checkProbabilities(*self.unsafeGetTensorImpl(), implOf(p, "bernoulli_", "p"));
  elementwise::assertNoPartialOverlap("bernoulli_", *self.unsafeGetTensorImpl(), *p.unsafeGetTensorImpl());
  expand(p, self.sizes(), false);
  return self;
}

Tensor& bernoulli_tensor_cpu_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  bernoulli_tensor_meta_(self, p, std::nullopt);
  const Tensor chances(detail::makeCpuTensor(self.sizes(), {}, kDouble));
  copyBelowAutograd(chances, p);
  forEachElement<double>(*chances.unsafeGetTensorImpl(), checkProbability);
  // Drawn over the probabilities, which are in the order of the elements.
  const Tensor drawn(detail::makeCpuTensor(self.sizes(), {}, kDouble));
  drawTensor<double>(drawn, cpuGenerator(generator),
                     drawWide<double>([](uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }));
  double* value = reinterpret_cast<double*>(drawn.unsafeGetTensorImpl()->data());
  forEachElement<double>(*chances.unsafeGetTensorImpl(), [&](double chance) {
    *value = *value < chance ? 1.0 : 0.0;
    ++value;
  });
  copyBelowAutograd(self, drawn);
  return self;
}

}  // namespace shunt::native
