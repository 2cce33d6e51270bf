// Rules of fill and masked_fill whose value is a tensor: a number for each sample.
//
// Note [Numbers and elements]
// The operators take a sample's value for a number, which has to fit into the dtype of self and is a double on its way
// there. A rule casts the values of all samples as elements, modulo 2^bits and with one rounding. Where that makes a
// difference, or can't be known as the values aren't in memory, the operator is called for each sample.
#include "src/transforms/vmap/aligned.h"
#include "src/transforms/vmap/elements.h"

#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>
#include <shunt/tensor/wrapper_kind.h>

namespace shunt::levels::rules {
namespace {

template <class To, class From>
bool castsAsNumber(From v) {
  try {
    const To number = Scalar(v).toWithoutOverflow<To>(), element = cast<To>(v);
    return number == element || (number != number && element != element);
  } catch (const Error&) {
    return false;
  }
}

/// What lies behind the levels further out: the values of all their samples.
const Tensor& behindLevels(const Tensor& t) {
  const Tensor* now = &t;
  while (isWrapper(*now)) now = &storageOf(*now).value;
  return *now;
}

/// Whether casts of the values are the numbers' casts.
bool castAsNumbers(const Tensor& shown, ScalarType to) {
  const Tensor& values = behindLevels(shown);
  const ScalarType from = values.scalar_type();
  if (from == to || from == kBool || to == kBool || to == kDouble) return true;
  const WrapperKind kind = wrapperKind(values);
  if (values.is_meta() || kind == WrapperKind::kFake) return true;  // the operators read no number either
  if (kind != WrapperKind::kNone || !values.is_cpu()) return false;
  const TensorImpl& impl = *values.unsafeGetTensorImpl();
  return dispatchAllTypes(from, "fill", [&]<class From>(std::type_identity<From>) {
    return dispatchAllTypes(to, "fill", [&]<class To>(std::type_identity<To>) {
      const From* first = reinterpret_cast<const From*>(impl.data());
      return everyElement(impl.sizes(), impl.strides(), 0, [&](int64_t at) { return castsAsNumber<To>(first[at]); });
    });
  });
}

/// A mask of bytes, which masked_fill checks if it fills anything: where() takes all but 0 for true.
Tensor asBools(const Tensor& mask, bool is_checked) {
  if (mask.dtype() != kByte || !is_checked) return mask;
  const Tensor none =
      ops::zeros_like::call(mask, kBool, std::nullopt, std::nullopt, std::nullopt, MemoryFormat::Contiguous);
  return ops::masked_fill_Scalar::call(none, mask, Scalar(true));
}

}  // namespace

/// The result has the dtype of self, whatever the value's is.
void maskedFill(BatchedCall& call) {
  SHUNT_CHECK(call.tensor(2).dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
              call.tensor(2).dim(), " dimension(s).");
  if (!call.isBatched(size_t{2})) {
    call.results = alignedArguments(call);
    return call.op.callBoxed(&call.results);
  }
  if (call.size != 0 && !castAsNumbers(call.tensor(2), call.tensor(0).scalar_type())) return loopSilently(call);
  const int64_t dims = mostDims(call);
  const Tensor value =
      ops::to_dtype::call(aligned(call, call.tensor(2), dims), call.tensor(0).dtype(), false, false, std::nullopt);
  const Tensor self = call.isBatched(size_t{0}) ? aligned(call, call.tensor(0), dims) : call.tensor(0);
  Tensor filled =
      ops::where_self::call(asBools(aligned(call, call.tensor(1), dims), call.tensor(0).numel() > 0), value, self);
  call.setResult(std::move(filled));
}

void fillTensor(BatchedCall& call) {
  const Tensor &self = call.tensor(0), &value = call.tensor(1);
  SHUNT_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
              " dimensions.");
  if (!call.isBatched(value)) return call.setResult(ops::fill_Tensor::call(call.front(self), value));
  if (call.size != 0 && !castAsNumbers(value, self.scalar_type())) return loopSilently(call);
  const Tensor cast = ops::to_dtype::call(call.expanded(value), self.dtype(), false, false, std::nullopt);
  Tensor shaped = cast;
  for (int64_t d = 0; d < self.dim(); ++d) shaped = ops::unsqueeze::call(shaped, 1);
  call.setResult(
      ops::clone::call(ops::expand::call(shaped, call.withBatch(self.sizes()), false), MemoryFormat::Contiguous));
}

}  // namespace shunt::levels::rules
