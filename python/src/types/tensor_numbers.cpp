// Python's operators on tensors: x + y, 1 - x, x @= y, x == y.
#include "python/src/arrays/numpy_types.h"
#include "python/src/arrays/shared_memory.h"
#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/call/entry.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

namespace shunt::python {

namespace {

/// What an operator of Python's calls. A name is looked up once.
class Named {
 public:
  explicit constexpr Named(const char* name) : name_(name) {}
  /// NotImplemented where the arguments are of types that it doesn't take: Python asks the other operand then.
  PyObject* operator()(PyObject* a, PyObject* b) {
    PyObject* args[] = {a, b};
    return callEntry(
        entry(), {.self = nullptr, .args = args, .num_args = 2, .keyword_names = nullptr, .or_not_implemented = true});
  }
  /// The method without arguments.
  PyObject* operator()(PyObject* a) {
    return callEntry(entry(), {.self = a, .args = nullptr, .num_args = 0, .keyword_names = nullptr});
  }
  PyObject* method(PyObject* self, PyObject* b) {
    PyObject* args[] = {b};
    return callEntry(entry(),
                     {.self = self, .args = args, .num_args = 1, .keyword_names = nullptr, .or_not_implemented = true});
  }

 private:
  Entry& entry() {
    if (entry_ == nullptr) [[unlikely]]
      entry_ = findEntry(name_);
    return *entry_;
  }
  const char* name_;
  Entry* entry_ = nullptr;
};

bool isNumber(PyObject* o) { return PyFloat_Check(o) || PyLong_Check(o); }

/// The number as a tensor, for operators that have no form with a number in the first place.
PyObject* withNumberFirst(Named& op, PyObject* number, PyObject* tensor) {
  return guarded([&] {
    const Ref wrapped = owned(wrap(wrapNumber(number)));
    return op(wrapped.get(), tensor);
  });
}

#define SHUNT_COMMUTATIVE(slot, name)         \
  PyObject* slot(PyObject* a, PyObject* b) {  \
    static Named op(name);                    \
    return isTensor(a) ? op(a, b) : op(b, a); \
  }
#define SHUNT_INPLACE(slot, name)            \
  PyObject* slot(PyObject* a, PyObject* b) { \
    static Named op(name);                   \
    return op.method(a, b);                  \
  }
#define SHUNT_UNARY(slot, name) \
  PyObject* slot(PyObject* a) { \
    static Named op(name);      \
    return op(a);               \
  }
// With a number in the first place: the form that has it there, else the number as a tensor.
#define SHUNT_ORDERED(slot, name)                     \
  PyObject* slot(PyObject* a, PyObject* b) {          \
    static Named op(name);                            \
    if (isTensor(a) || !isNumber(a)) return op(a, b); \
    return withNumberFirst(op, a, b);                 \
  }

SHUNT_COMMUTATIVE(add, "add")
SHUNT_COMMUTATIVE(multiply, "mul")
SHUNT_COMMUTATIVE(bitAnd, "bitwise_and")
SHUNT_COMMUTATIVE(bitOr, "bitwise_or")
SHUNT_COMMUTATIVE(bitXor, "bitwise_xor")
SHUNT_ORDERED(floorDivide, "floor_divide")
SHUNT_ORDERED(remainder, "remainder")
SHUNT_ORDERED(shiftLeft, "bitwise_left_shift")
SHUNT_ORDERED(shiftRight, "bitwise_right_shift")
SHUNT_INPLACE(inplaceAdd, "add_")
SHUNT_INPLACE(inplaceSubtract, "sub_")
SHUNT_INPLACE(inplaceMultiply, "mul_")
SHUNT_INPLACE(inplaceDivide, "div_")
SHUNT_INPLACE(inplaceFloorDivide, "floor_divide_")
SHUNT_INPLACE(inplaceRemainder, "remainder_")
SHUNT_INPLACE(inplaceAnd, "bitwise_and_")
SHUNT_INPLACE(inplaceOr, "bitwise_or_")
SHUNT_INPLACE(inplaceXor, "bitwise_xor_")
SHUNT_INPLACE(inplaceShiftLeft, "bitwise_left_shift_")
SHUNT_INPLACE(inplaceShiftRight, "bitwise_right_shift_")
SHUNT_UNARY(positive, "positive")
SHUNT_UNARY(negative, "neg")
SHUNT_UNARY(absolute, "abs")
SHUNT_UNARY(invert, "bitwise_not")

PyObject* subtract(PyObject* a, PyObject* b) {
  static Named op("sub"), reflected("rsub");
  return isTensor(a) ? op(a, b) : reflected(b, a);
}

PyObject* divide(PyObject* a, PyObject* b) {
  static Named op("div"), reciprocal("reciprocal"), product("mul");
  if (isTensor(a)) return op(a, b);
  if (!isNumber(a)) return product(b, a);
  // As PyTorch has it, so the bits are those of a product.
  const Ref inverse = Ref::steal(reciprocal(b));
  return inverse ? product(inverse.get(), a) : nullptr;
}

PyObject* matrixProduct(PyObject* a, PyObject* b) {
  static Named op("matmul");
  return op(a, b);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  static Named op("pow");
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return op(a, b);
}
PyObject* inplacePower(PyObject* a, PyObject* b, PyObject*) {
  static Named op("pow_");
  return op.method(a, b);
}

int isTrue(PyObject* self) {
  return guardedStatus([&] {
    const Tensor& t = tensorOf(self);
    if (t.numel() != 1)
      raise(PyExc_RuntimeError, t.numel() == 0 ? "Boolean value of Tensor with no values is ambiguous"
                                               : "Boolean value of Tensor with more than one value is ambiguous");
    return t.item().toBool() ? 1 : 0;
  });
}

Scalar onlyElement(PyObject* self) {
  const Tensor& t = tensorOf(self);
  if (t.numel() != 1) raise(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
  return t.item();
}

PyObject* toPythonInt(PyObject* self) {
  return guarded([&] {
    const Scalar value = onlyElement(self);
    return value.isFloatingPoint() ? PyLong_FromDouble(value.toDouble()) : PyLong_FromLongLong(value.toLong());
  });
}
PyObject* toPythonFloat(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(onlyElement(self).toDouble()); });
}
PyObject* toPythonIndex(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    if (!isIntegralType(t.scalar_type(), true) || t.numel() != 1)
      raise(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(t.item().toLong());
  });
}

}  // namespace

PyNumberMethods tensor_number_methods = {
    .nb_add = add,
    .nb_subtract = subtract,
    .nb_multiply = multiply,
    .nb_remainder = remainder,
    .nb_power = power,
    .nb_negative = negative,
    .nb_positive = positive,
    .nb_absolute = absolute,
    .nb_bool = isTrue,
    .nb_invert = invert,
    .nb_lshift = shiftLeft,
    .nb_rshift = shiftRight,
    .nb_and = bitAnd,
    .nb_xor = bitXor,
    .nb_or = bitOr,
    .nb_int = toPythonInt,
    .nb_float = toPythonFloat,
    .nb_inplace_add = inplaceAdd,
    .nb_inplace_subtract = inplaceSubtract,
    .nb_inplace_multiply = inplaceMultiply,
    .nb_inplace_remainder = inplaceRemainder,
    .nb_inplace_power = inplacePower,
    .nb_inplace_lshift = inplaceShiftLeft,
    .nb_inplace_rshift = inplaceShiftRight,
    .nb_inplace_and = inplaceAnd,
    .nb_inplace_xor = inplaceXor,
    .nb_inplace_or = inplaceOr,
    .nb_floor_divide = floorDivide,
    .nb_true_divide = divide,
    .nb_inplace_floor_divide = inplaceFloorDivide,
    .nb_inplace_true_divide = inplaceDivide,
    .nb_index = toPythonIndex,
    .nb_matrix_multiply = matrixProduct,
};

PyObject* compareTensors(PyObject* a, PyObject* b, int op) {
  static Named ops[] = {Named("lt"), Named("le"), Named("eq"), Named("ne"), Named("gt"), Named("ge")};
  if ((op == Py_EQ || op == Py_NE) && isNumpyArray(b)) [[unlikely]] {
    // An array would leave the comparison to us, and we to it.
    return guarded([&] {
      const Ref other = owned(wrap(tensorOverArray(b, false)));
      return ops[op](a, other.get());
    });
  }
  return ops[op](a, b);
}

}  // namespace shunt::python
