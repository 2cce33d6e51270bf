#include "kernels/pointwise/expected.h"

#include "kernels/pointwise/expected_dense.h"
#include "kernels/pointwise/expected_uniform.h"

namespace shunt::elementwise {
namespace {

template <int N>
constexpr int inputsOf(const UniformCall<N>*) {
  return N;
}
template <int N>
constexpr int inputsOf(const DenseCall<N>*) {
  return N;
}
using Impl = intrusive_ptr<TensorImpl>;

template <class Call>
using PartsOf = Parts<inputsOf(static_cast<Call*>(nullptr))>;

/// What became of a call with given output.
enum class Taken : uint8_t { kNo, kLarge, kDone };

template <class Call>
SHUNT_ALWAYS_INLINE Taken writeExpected(const Request& r, Record::Form form, Tensor& given) {
  const PartsOf<Call> p(r);
  Call call;
  Views views;
  Slots slots;
  const TensorImpl* out = given.unsafeGetTensorImpl();
  if (!call.take(r, p, kExpected, form, views, slots) || !canTake(p, kExpected, *call.shape, out)) return Taken::kNo;
  if (isLarge(call.shape->numel())) return Taken::kLarge;
  if (!takeScalars(r, p, kExpected, slots)) return Taken::kNo;
  call.loop(p, kExpected, views, slots,
            dataOf(*out, p.op.loopOutput(kExpected.common)));  // canTake: no element is invalid
  return Taken::kDone;
}

template <class Call>
bool expects(const Request& r, const Tensor* out, const Record& e) {
  const PartsOf<Call> p(r);
  Call call;
  Views views;
  Slots slots;
  return call.take(r, p, e, e.form, views, slots) &&
         (out == nullptr || canTake(p, e, *call.shape, out->unsafeGetTensorImpl()));
}

}  // namespace

bool expectsUniform(const Request& r, const Tensor* out, const Record& record) {
  constexpr decltype(&expects<UniformCall<1>>) kByInputs[] = {expects<UniformCall<1>>, expects<UniformCall<2>>,
                                                              expects<UniformCall<3>>};
  return kByInputs[r.op.num_inputs - 1](r, out, record);
}

bool expectsDense(const Request& r, const Tensor* out, const Record& record) {
  constexpr decltype(&expects<DenseCall<1>>) kByInputs[] = {expects<DenseCall<1>>, expects<DenseCall<2>>,
                                                            expects<DenseCall<3>>};
  return kByInputs[r.op.num_inputs - 1](r, out, record);
}

void prepareScalarsApart(const Request& r, ScalarType common, ScalarSlot* slots) { prepareScalars(r, common, slots); }

int64_t rowOf(const TensorImpl& whole, const TensorImpl& t) { return endsIn(whole, t) ? t.numel() : -1; }

int64_t rowBesideColumn(const TensorImpl& whole, const TensorImpl& t) {
  const IntArrayRef x = whole.sizes(), y = t.sizes();
  if (x.size() != y.size() || x.empty() || y.back() != 1) return -1;
  for (size_t d = 0; d + 1 < x.size(); ++d)
    if (x[d] != y[d]) return -1;
  return x.back();
}

bool isApart(const TensorImpl& out, const TensorImpl& t) {
  const std::byte *begin = out.data(), *other = t.data();
  // The same elements. With other strides, if only of dimensions of one, the interpreter refuses them.
  if (begin == other && t.dtype() == out.dtype() && sameSizes(t, out) && t.strides() == out.strides()) return true;
  return other + t.numel() * t.itemsize() <= begin || begin + out.numel() * out.itemsize() <= other;
}

bool haveUsualStrides(const Request& r) {
  for (int i = 0; i < r.op.num_inputs; ++i)
    if (const TensorImpl* t = r.inputs[i].tensor; t != nullptr && (t->numel() == 0 || !hasRowMajorStrides(*t)))
      return false;
  return true;
}

template <class Call>
Tensor functionalExpected(const Request& r) {
  const PartsOf<Call> p(r);
  Call call;
  Views views;
  Slots slots;
  if (!call.take(r, p, kExpected, Record::kFunctional, views, slots)) [[unlikely]]
    return functionalMissed(r, ::shunt::detail::plannedMisses());
  if (isLarge(call.shape->numel())) [[unlikely]]
    return functionalLarge(r);
  if (!takeScalars(r, p, kExpected, slots)) [[unlikely]]
    return functionalMissed(r, ::shunt::detail::plannedMisses());
  const ScalarType result = p.op.loopOutput(kExpected.common);
  Tensor out(Impl::reclaim(::shunt::detail::newCpuTensorLike(*call.shape, result)));
  const bool valid = call.loop(p, kExpected, views, slots, dataOf(*out.unsafeGetTensorImpl(), result));
  if (p.op.invalid != nullptr && !valid) [[unlikely]]
    throwInvalidElement(r);
  return out;
}

template <class Call>
void outExpected(const Request& r, Tensor& out) {
  const Taken taken = writeExpected<Call>(r, Record::kOut, out);
  if (taken == Taken::kLarge) [[unlikely]]
    return outLarge(r, out);
  if (taken == Taken::kNo) [[unlikely]]
    outMissed(r, out, ::shunt::detail::plannedMisses());
}

template <class Call>
void inplaceExpected(const Request& r, Tensor& self) {
  const Taken taken = writeExpected<Call>(r, Record::kInplace, self);
  if (taken == Taken::kLarge) [[unlikely]]
    return inplaceLarge(r, self);
  if (taken == Taken::kNo) [[unlikely]]
    inplaceMissed(r, self, ::shunt::detail::plannedMisses());
}

Tensor functionalLarge(const Request& r) { return runFunctional(r); }
void outLarge(const Request& r, Tensor& out) { runOutRequest(r, out); }
void inplaceLarge(const Request& r, Tensor& self) { runInplaceRequest(r, self); }

#define SHUNT_INSTANTIATE(call)                             \
  template Tensor functionalExpected<call>(const Request&); \
  template void outExpected<call>(const Request&, Tensor&); \
  template void inplaceExpected<call>(const Request&, Tensor&);
SHUNT_INSTANTIATE(UniformCall<1>)
SHUNT_INSTANTIATE(UniformCall<2>)
SHUNT_INSTANTIATE(UniformCall<3>)
SHUNT_INSTANTIATE(DenseCall<1>)
SHUNT_INSTANTIATE(DenseCall<2>)
SHUNT_INSTANTIATE(DenseCall<3>)
#undef SHUNT_INSTANTIATE

}  // namespace shunt::elementwise
