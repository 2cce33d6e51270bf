// The buffer protocol: memoryview(x), numpy.asarray(x), bytes(x.contiguous()), without a copy.
#include "python/src/arrays/buffer.h"

#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>
#include <shunt/tensor/storage_pin.h>
#include <shunt/tensor/wrapper_kind.h>

#include <memory>
#include <vector>

namespace shunt::python {

namespace {

/// What a view keeps: the tensor's memory as it was, and what the view's pointers show.
struct Exported {
  StoragePin pin;
  std::vector<Py_ssize_t> shape, strides;
};

/// As the module struct writes it; null where it has no letter for the dtype.
const char* formatOf(ScalarType t) {
  switch (t) {
    case kBool:
      return "?";
    case kByte:
      return "B";
    case kChar:
      return "b";
    case kShort:
      return "h";
    case kInt:
      return "i";
    case kLong:
      return "l";
    case kHalf:
      return "e";
    case kFloat:
      return "f";
    case kDouble:
      return "d";
    default:
      return nullptr;
  }
}

[[noreturn]] void refuse(const std::string& why) { raise(PyExc_BufferError, why); }

void checkExport(const Tensor& t, const char* format) {
  if (t.requires_grad() && GradMode::is_enabled())
    refuse("Can't export a tensor that requires grad as a buffer: use tensor.detach()");
  if (const char* why = whyNoData(t)) refuse(std::string("there is no memory to export of ") + why);
  if (!t.is_cpu()) refuse("only memory of the CPU can be exported as a buffer: the tensor is on " + t.device().str());
  if (format == nullptr) refuse(std::string("no buffer has elements of ") + dtypeName(t.scalar_type()));
}

bool isColumnMajor(const Tensor& t) {
  int64_t step = 1;
  for (size_t d = 0; d < t.sizes().size(); ++d) {
    if (t.sizes()[d] != 1 && t.strides()[d] != step) return false;
    step *= t.sizes()[d];
  }
  return true;
}

void checkOrder(const Tensor& t, int flags) {
  const bool rows = t.is_contiguous();
  const bool columns =
      (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS || (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS
          ? isColumnMajor(t) || t.numel() == 0
          : false;
  const bool fits = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS       ? rows
                    : (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS     ? columns
                    : (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS ? rows || columns
                    : (flags & PyBUF_STRIDES) == PyBUF_STRIDES               ? true
                                                                             : rows;
  if (!fits) refuse("the tensor's elements don't lie in memory in that order: use tensor.contiguous()");
}

int getBuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guardedStatus([&] {
    const Tensor& t = tensorOf(self);
    const char* format = formatOf(t.scalar_type());
    checkExport(t, format);
    checkOrder(t, flags);
    auto exported = std::make_unique<Exported>();
    exported->pin = StoragePin(t.storage());
    const int64_t item = t.element_size();
    for (size_t d = 0; d < t.sizes().size(); ++d) {
      exported->shape.push_back(t.sizes()[d]);
      exported->strides.push_back(t.strides()[d] * item);
    }
    static std::byte nothing[8];
    view->buf = t.numel() == 0 ? nothing : t.data_ptr();
    view->len = t.numel() * item;
    // Whoever asks for no shape sees bytes in one dimension: Python's memoryview looks for the sizes of all others.
    const bool with_shape = (flags & PyBUF_ND) == PyBUF_ND;
    view->itemsize = with_shape ? item : 1;
    view->readonly = 0;
    view->ndim = with_shape ? static_cast<int>(t.dim()) : 1;
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = with_shape ? exported->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
    view->suboffsets = nullptr;
    // Not the tensor's own object: a view that an attribute of it leads to would be a circle that the collector can't
    // see, as arrays of NumPy show it nothing.
    Ref owner = owned(wrapAs(tensor_class, aliasOf(*t.unsafeGetTensorImpl())));
    view->internal = exported.release();
    view->obj = owner.release();
    return 0;
  });
}

void releaseBuffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

}  // namespace

PyBufferProcs tensor_buffer = {.bf_getbuffer = getBuffer, .bf_releasebuffer = releaseBuffer};

}  // namespace shunt::python
