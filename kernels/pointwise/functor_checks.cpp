#include <shunt/elementwise/functor_checks.h>

namespace shunt::checks {

void alpha(const CheckArgs& a) {
  const Scalar& alpha = *a.scalars[0];
  SHUNT_CHECK(!alpha.isBoolean() || a.common == kBool, a.op, "(): Boolean alpha only supported for Boolean results.");
  SHUNT_CHECK(isFloatingType(a.common) || alpha.isIntegral(true), a.op,
              "(): For integral input tensors, argument alpha must not be a floating point number.");
}

void subtraction(const CheckArgs& a) {
  SHUNT_CHECK(
      a.inputs[0] != kBool || a.inputs[1] != kBool, a.op,
      "(): Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
      "operator instead.");
  SHUNT_CHECK(
      a.inputs[0] != kBool && a.inputs[1] != kBool, a.op,
      "(): Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
      "use the `~` or `logical_not()` operator instead.");
  alpha(a);
}

void negation(const CheckArgs& a) {
  SHUNT_CHECK(
      a.inputs[0] != kBool, a.op,
      "(): Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
      "the `~` or `logical_not()` operator instead.");
}

void addcdiv(const CheckArgs& a) {
  SHUNT_CHECK(
      !isIntegralType(a.inputs[1], true) || !isIntegralType(a.inputs[2], true), a.op,
      "(): Integer division with addcdiv is no longer supported. Use (self + value * trunc(tensor1 / tensor2)) for "
      "integer results, or cast an operand to a floating point dtype.");
}

void lerp(const CheckArgs& a) {
  SHUNT_CHECK(a.inputs[0] == a.inputs[1], a.op, "(): expected dtype ", a.inputs[0], " for `end` but got dtype ",
              a.inputs[1]);
}

void lerpTensor(const CheckArgs& a) {
  lerp(a);
  SHUNT_CHECK(a.inputs[0] == a.inputs[2], a.op, "(): expected dtype ", a.inputs[0], " for `weight` but got dtype ",
              a.inputs[2]);
}

void clampNumbers(const CheckArgs& a) {
  for (const Scalar* number : a.numbers) {
    if (number == nullptr) continue;
    if (a.common == kBool) detail::throwNotImplementedFor(a.op, kBool);
    dispatchAllTypes(a.common, a.op, [&]<class T>(std::type_identity<T>) { static_cast<void>(number->to<T>()); });
  }
}

void noBool(const CheckArgs& a) { SHUNT_CHECK(a.inputs[0] != kBool, "Boolean inputs not supported for ", a.op); }

}  // namespace shunt::checks
