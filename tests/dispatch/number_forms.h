// The dictionary's operators that take a number where another takes a tensor, with what they are made of.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <vector>

namespace shunt::test {

struct NumberForm {
  const char* name;
  const char* made_of;  // the operator that it calls, as PyTorch 1.13's does
  std::function<Tensor(const Tensor&)> run;
  std::function<Tensor(const Tensor&)> with_tensor;  // the same by that operator
  bool integral = false;                             // takes no floating-point tensors
};

inline const Scalar kNumber = 3;
inline Tensor kWrapped() { return wrapped_scalar_tensor(kNumber); }

// name(self, number), by `operator(self, wrapped number)`.
#define SHUNT_NUMBER_FORM(name, made_of, integral)                                                       \
  {"aten::" #name ".Scalar", "aten::" #made_of, [](const Tensor& x) { return shunt::name(x, kNumber); }, \
   [](const Tensor& x) { return shunt::name(x, kWrapped()); }, integral}
#define SHUNT_NUMBER_FORM_INPLACE(name, made_of, integral)                                                   \
  {"aten::" #name "_.Scalar", "aten::" #made_of, [](const Tensor& x) { return x.clone().name##_(kNumber); }, \
   [](const Tensor& x) { return x.clone().name##_(kWrapped()); }, integral}
#define SHUNT_NUMBER_FORM_OUT(name, made_of, integral) \
  {"aten::" #name ".Scalar_out", "aten::" #made_of,    \
   [](const Tensor& x) {                               \
     Tensor out = empty_like(x);                       \
     return shunt::name##_out(out, x, kNumber);        \
   },                                                  \
   [](const Tensor& x) {                               \
     Tensor out = empty_like(x);                       \
     return shunt::name##_out(out, x, kWrapped());     \
   },                                                  \
   integral}

inline const std::vector<NumberForm>& numberForms() {
  static const std::vector<NumberForm> all = {
      SHUNT_NUMBER_FORM(add, add.Tensor, false),
      SHUNT_NUMBER_FORM_INPLACE(add, add_.Tensor, false),
      SHUNT_NUMBER_FORM_OUT(add, add.Tensor, false),
      SHUNT_NUMBER_FORM(sub, sub.Tensor, false),
      SHUNT_NUMBER_FORM_INPLACE(sub, sub_.Tensor, false),
      SHUNT_NUMBER_FORM_OUT(sub, sub.Tensor, false),
      {"aten::rsub.Scalar", "aten::sub.Tensor", [](const Tensor& x) { return rsub(x, kNumber); },
       [](const Tensor& x) { return kWrapped().sub(x); }},
      SHUNT_NUMBER_FORM(mul, mul.Tensor, false),
      SHUNT_NUMBER_FORM_INPLACE(mul, mul.out, false),
      SHUNT_NUMBER_FORM_OUT(mul, mul.Tensor, false),
      SHUNT_NUMBER_FORM(div, div.Tensor, false),
      SHUNT_NUMBER_FORM_INPLACE(div, div_.Tensor, false),
      SHUNT_NUMBER_FORM_OUT(div, div.Tensor, false),
      {"aten::div.Scalar_mode", "aten::div.Tensor_mode", [](const Tensor& x) { return div(x, kNumber, "floor"); },
       [](const Tensor& x) { return div(x, kWrapped(), "floor"); }},
      {"aten::div_.Scalar_mode", "aten::div_.Tensor_mode",
       [](const Tensor& x) { return x.clone().div_(kNumber, "trunc"); },
       [](const Tensor& x) { return x.clone().div_(kWrapped(), "trunc"); }},
      SHUNT_NUMBER_FORM(floor_divide, floor_divide, false),
      SHUNT_NUMBER_FORM_INPLACE(floor_divide, floor_divide.out, false),
      SHUNT_NUMBER_FORM(remainder, remainder.Tensor, false),
      SHUNT_NUMBER_FORM_INPLACE(remainder, remainder_.Tensor, false),
      SHUNT_NUMBER_FORM_OUT(remainder, remainder.Tensor_out, false),
      SHUNT_NUMBER_FORM(fmod, fmod.Tensor, false),
      SHUNT_NUMBER_FORM_INPLACE(fmod, fmod_.Tensor, false),
      SHUNT_NUMBER_FORM_OUT(fmod, fmod.Tensor_out, false),
      SHUNT_NUMBER_FORM(bitwise_and, bitwise_and.Tensor, true),
      SHUNT_NUMBER_FORM_INPLACE(bitwise_and, bitwise_and_.Tensor, true),
      SHUNT_NUMBER_FORM_OUT(bitwise_and, bitwise_and.Tensor_out, true),
      SHUNT_NUMBER_FORM(bitwise_or, bitwise_or.Tensor, true),
      SHUNT_NUMBER_FORM_INPLACE(bitwise_or, bitwise_or_.Tensor, true),
      SHUNT_NUMBER_FORM_OUT(bitwise_or, bitwise_or.Tensor_out, true),
      SHUNT_NUMBER_FORM(bitwise_xor, bitwise_xor.Tensor, true),
      SHUNT_NUMBER_FORM_INPLACE(bitwise_xor, bitwise_xor_.Tensor, true),
      SHUNT_NUMBER_FORM_OUT(bitwise_xor, bitwise_xor.Tensor_out, true),
  };
  return all;
}
#undef SHUNT_NUMBER_FORM
#undef SHUNT_NUMBER_FORM_INPLACE
#undef SHUNT_NUMBER_FORM_OUT

inline Tensor operandOf(const NumberForm& f) { return arange(16, f.integral ? kLong : kFloat); }

/// What a boxed kernel met, and its answer: it writes kMark to what it has to write to, or returns a tensor full of it.
struct Meeting {
  int calls = 0;
  std::vector<Tensor> numbers;  // 0-dim arguments
};
constexpr double kMark = 77;

inline CppFunction meeting(Meeting& met) {
  return CppFunction::makeFromBoxed([&met](const OperatorHandle& op, Stack* stack) {
    ++met.calls;
    Tensor like, written;
    for (size_t i = 0; i < stack->size(); ++i) {
      if (!(*stack)[i].isTensor()) continue;
      const Tensor& t = (*stack)[i].toTensor();
      if (op.schema().arguments()[i].is_write()) written = t;
      if (t.dim() == 0)
        met.numbers.push_back(t);
      else
        like = t;
    }
    stack->clear();
    if (written.defined())
      stack->push_back(IValue(written.fill_(kMark)));
    else
      stack->push_back(IValue(full_like(like, kMark)));
  });
}

}  // namespace shunt::test
