#include "kernels/wrappers/structured.h"

#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/overlap.h"

#include <shunt/core/annotate.h>

namespace shunt::wrappers {

namespace {
void checkTarget(const char* op, const native::ResultMeta& meta, const Tensor& out) {
  SHUNT_CHECK(out.defined(), op, ": out is an undefined tensor");
  SHUNT_CHECK(out.device() == meta.like().device(), op, ": expected out tensor to be on ", meta.like().device(),
              ", but got ", out.device());
  SHUNT_CHECK(out.scalar_type() == meta.dtype(), op, ": Expected out tensor to have dtype ", meta.dtype(), ", but got ",
              out.scalar_type(), " instead");
}
}  // namespace

SHUNT_ANNOTATE("wrapper")
bool prepareStructuredOut(const char* op, const native::ResultMeta& meta, std::initializer_list<const Tensor*> inputs,
                          const Tensor& out) {
  checkTarget(op, meta, out);
  for (const Tensor* t : inputs)
    if (t->defined() && out.is_alias_of(*t)) return false;  // resized when the input has been read
  native::resizeOutput(out, meta.sizes());
  elementwise::assertNoInternalOverlap(op, *out.unsafeGetTensorImpl(), Overlap::kError);
  return out.is_contiguous();
}

void checkStructuredInplace(const char* op, const native::ResultMeta& meta, const Tensor& self) {
  checkTarget(op, meta, self);
  SHUNT_CHECK(self.sizes() == meta.sizes(), op, ": output with shape ", self.sizes(),
              " doesn't match the result's shape ", meta.sizes());
  elementwise::assertNoInternalOverlap(op, *self.unsafeGetTensorImpl(), Overlap::kError);
}

SHUNT_ANNOTATE("wrapper")
void copyStructured(const Tensor& to, const Tensor& result) {
  native::resizeOutput(to, result.sizes());
  native::copyBelowAutograd(to, result);
}

}  // namespace shunt::wrappers
