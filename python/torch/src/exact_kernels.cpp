// Operators of Shunt's with the rounding of PyTorch's kernels, for groups of fused operators (fused.h).
#include <shunt/core/isa.h>
#include <shunt/elementwise/library.h>
#include <shunt/shunt.h>

#include <array>
#include <type_traits>

namespace {

using namespace shunt;

// self + alpha * other, rounded once.
struct AddScaled : functors::Functor<2, 1> {
  static constexpr DtypeSet kTypes = dtypeSet(kFloat, kDouble);
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C other, C alpha) const {
    if constexpr (sizeof(C) == sizeof(float))
      return __builtin_fmaf(other, alpha, self);
    else
      return __builtin_fma(other, alpha, self);
  }
};

struct SubScaled : functors::Functor<2, 1> {
  static constexpr DtypeSet kTypes = dtypeSet(kFloat, kDouble);
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C other, C alpha) const {
    return AddScaled()(self, other, -alpha);
  }
};

// Compiled for every CPU, the functors call libm for each element. Where all their input lies in order, which is what
// optimisers have, and the CPU's instructions may be used, this is run instead; the JIT makes loops of its own.
template <class F, class T>
[[gnu::target("avx2,fma")]] bool inOrder(T* out, const T* self, const T* other, int64_t n, T alpha) {
  if constexpr (std::is_same_v<F, SubScaled>) alpha = -alpha;
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#endif
  for (int64_t i = 0; i < n; ++i)
    if constexpr (sizeof(T) == sizeof(float))
      out[i] = __builtin_fmaf(other[i], alpha, self[i]);
    else
      out[i] = __builtin_fma(other[i], alpha, self[i]);
  return true;
}

template <class F, class T>
bool scaledLoop(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                const elementwise::ScalarSlot* scalars) {
  if (repeated != 0 || detail::activeIsa() == Isa::kBaseline)
    return elementwise::loopOf<F, T>()(out, in, repeated, n, scalars);
  return inOrder<F, T>(reinterpret_cast<T*>(out), reinterpret_cast<const T*>(in[0]), reinterpret_cast<const T*>(in[1]),
                       n, elementwise::loadRaw<T>(scalars[0].bytes));
}

template <class F>
constexpr std::array<elementwise::LoopFn, elementwise::kDtypeSlots> scaledLoops() {
  std::array<elementwise::LoopFn, elementwise::kDtypeSlots> row{};
  row[static_cast<size_t>(kFloat)] = &scaledLoop<F, float>;
  row[static_cast<size_t>(kDouble)] = &scaledLoop<F, double>;
  return row;
}

}  // namespace

namespace shunt::elementwise {
template <>
inline constexpr auto kOwnLoops<AddScaled> = scaledLoops<AddScaled>();
template <>
inline constexpr auto kOwnLoops<SubScaled> = scaledLoops<SubScaled>();
}  // namespace shunt::elementwise

namespace {

// In PyTorch's namespace, since plans make loops of its operators only: schemas of others may say too little.
SHUNT_LIBRARY_FRAGMENT(aten, m) {
  for (const char* const name : {"_add_scaled", "_sub_scaled"}) {
    const std::string n = name;
    m.def(n + "(Tensor self, Tensor other, Scalar alpha=1) -> Tensor");
    m.def(n + "_(Tensor(a!) self, Tensor other, Scalar alpha=1) -> Tensor(a!)");
  }
}

void define(Library& m) {
  m.elementwise<AddScaled>("_add_scaled");
  m.elementwise<SubScaled>("_sub_scaled");
}
SHUNT_LIBRARY_IMPL(aten, CPU, m) { define(m); }
SHUNT_LIBRARY_IMPL(aten, Meta, m) { define(m); }

}  // namespace
