// What a kernel's checks say: the macros, ATen/TensorUtils.h, the AT_DISPATCH macros, and calls that don't fit an
// operator.
#include "checks.h"

#include "../report.h"

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/TensorUtils.h>
#include <torch/library.h>

namespace {

using report::quarters;

void showMacros() {
  const int two = 2;
  report::error("TORCH_CHECK", [&] { TORCH_CHECK(two == 3, "two is ", two, ", not ", 3); });
  report::error("TORCH_CHECK without a message", [&] { TORCH_CHECK(two == 3); });
  report::error("TORCH_CHECK_INDEX", [&] { TORCH_CHECK_INDEX(two == 3, "of an index"); });
  report::error("TORCH_CHECK_VALUE", [&] { TORCH_CHECK_VALUE(two == 3, "of a value"); });
  report::error("TORCH_CHECK_TYPE", [&] { TORCH_CHECK_TYPE(two == 3, "of a type"); });
  report::error("TORCH_CHECK_NOT_IMPLEMENTED", [&] { TORCH_CHECK_NOT_IMPLEMENTED(two == 3, "of what is missing"); });
  report::error("AT_ERROR", [] { AT_ERROR("at ", "once"); });
  report::error("a check that holds", [&] { TORCH_CHECK(two == 2, "two is two"); });
  std::string kind;
  try {
    TORCH_CHECK_VALUE(false, "caught by its type");
  } catch (const c10::ValueError& e) {
    kind = "ValueError";
  }
  try {
    TORCH_CHECK_INDEX(false, "caught by its type");
  } catch (const c10::IndexError& e) {
    kind += " IndexError";
  }
  std::printf("caught: %s\n", kind.c_str());
}

void showTensorChecks() {
  const at::Tensor a = quarters({2, 3}), b = quarters({3, 2}, at::kDouble), none;
  const at::TensorArg first{a, "a", 1}, second{b, "b", 2}, undefined{none, "none", 3}, nameless{a, "a", 0};
  const at::Tensor t = a.t(), single = quarters({1});
  const at::TensorArg transposed{t, "t", 4}, one{single, "one", 5};
  at::CheckedFrom from = "checks";
  report::error("checkDim", [&] { at::checkDim(from, first, 3); });
  report::error("checkDim, no position", [&] { at::checkDim(from, nameless, 3); });
  report::error("checkDimRange", [&] { at::checkDimRange(from, first, 3, 5); });
  report::error("checkSize", [&] { at::checkSize(from, first, {2, 4}); });
  report::error("checkSize of one", [&] { at::checkSize(from, first, 1, 4); });
  report::error("checkNumel", [&] { at::checkNumel(from, first, 5); });
  report::error("checkAllSameNumel", [&] { at::checkAllSameNumel(from, {first, one}); });
  report::error("checkContiguous", [&] { at::checkContiguous(from, transposed); });
  report::error("checkAllContiguous", [&] { at::checkAllContiguous(from, {first, transposed}); });
  report::error("checkScalarType", [&] { at::checkScalarType(from, first, at::kLong); });
  report::error("checkScalarTypes", [&] { at::checkScalarTypes(from, first, {at::kLong, at::kHalf}); });
  report::error("checkSameSize", [&] { at::checkSameSize(from, first, second); });
  report::error("checkSameDim", [&] { at::checkSameDim(from, first, one); });
  report::error("checkSameType", [&] { at::checkSameType(from, first, second); });
  report::error("checkAllSameType", [&] { at::checkAllSameType(from, {first, undefined, second}); });
  report::error("checks that hold", [&] {
    at::checkDim(from, first, 2);
    at::checkDefined(from, first);
    at::checkAllDefined(from, {first, second});
    at::checkSize(from, first, {2, 3});
    at::checkAllSameType(from, {first, transposed, undefined});
    at::checkScalarTypes(from, first, {at::kFloat, at::kHalf});
  });
}

// Which dtypes a list has, by the type that its code gets.
template <class F>
void showTypes(const char* list, F sizeOf) {
  std::printf("%s:", list);
  for (const auto dtype : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kFloat, at::kDouble,
                           at::kBool, at::kBFloat16}) {
    try {
      std::printf(" %s %d", c10::toString(dtype), static_cast<int>(sizeOf(dtype)));
    } catch (const c10::Error& e) {
      std::printf(" no %s", c10::toString(dtype));
    }
  }
  std::printf("\n");
}

void showDispatch() {
#define SHOW(macro) \
  showTypes(#macro, [](at::ScalarType t) { return macro(t, "kernel", [] { return sizeof(scalar_t); }); })
#define SHOW_AND(macro, ...) \
  showTypes(#macro, [](at::ScalarType t) { return macro(__VA_ARGS__, t, "kernel", [] { return sizeof(scalar_t); }); })
  SHOW(AT_DISPATCH_FLOATING_TYPES);
  SHOW(AT_DISPATCH_FLOATING_TYPES_AND_HALF);
  SHOW_AND(AT_DISPATCH_FLOATING_TYPES_AND, at::kBFloat16);
  SHOW_AND(AT_DISPATCH_FLOATING_TYPES_AND2, at::kBFloat16, at::kHalf);
  SHOW(AT_DISPATCH_INTEGRAL_TYPES);
  SHOW_AND(AT_DISPATCH_INTEGRAL_TYPES_AND, at::kBool);
  SHOW(AT_DISPATCH_ALL_TYPES);
  SHOW_AND(AT_DISPATCH_ALL_TYPES_AND, at::kBool);
  SHOW_AND(AT_DISPATCH_ALL_TYPES_AND2, at::kBool, at::kHalf);
  SHOW_AND(AT_DISPATCH_ALL_TYPES_AND3, at::kBool, at::kHalf, at::kBFloat16);
  SHOW(AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES);
  SHOW_AND(AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1, at::kHalf);
  SHOW_AND(AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2, at::kHalf, at::kBFloat16);
  SHOW(AT_DISPATCH_ALL_TYPES_AND_COMPLEX);
  SHOW_AND(AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND, at::kHalf);
  SHOW_AND(AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2, at::kHalf, at::kBool);
  SHOW_AND(AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3, at::kHalf, at::kBool, at::kBFloat16);
  showTypes("AT_DISPATCH_INDEX_TYPES",
            [](at::ScalarType t) { return AT_DISPATCH_INDEX_TYPES(t, "kernel", [] { return sizeof(index_t); }); });
  showTypes("acc_type", [](at::ScalarType t) {
    return AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, t, "kernel",
                                      [] { return sizeof(at::acc_type<scalar_t, false>); });
  });
#undef SHOW
#undef SHOW_AND
  report::error("AT_DISPATCH", [] { AT_DISPATCH_FLOATING_TYPES(at::kHalf, "this kernel", [] {}); });
}

void showRefusedCalls() {
  auto& dispatcher = c10::Dispatcher::singleton();
  report::error("no such operator", [&] { dispatcher.findSchemaOrThrow("operators::missing", ""); });
  report::error("accessor of another dtype", [] {
    const at::Tensor t = quarters({2});
    (void)t.accessor<double, 1>();
  });
  report::error("accessor of other dimensions", [] {
    const at::Tensor t = quarters({2});
    (void)t.accessor<float, 2>();
  });
}

}  // namespace

void showChecks() {
  showMacros();
  showTensorChecks();
  showDispatch();
  showRefusedCalls();
}
