#include "tools/shunt/typed_calls.h"

#include "tools/shunt/typed_signatures.h"

namespace shunt::cli {
namespace {

void runBoxed(const OperatorHandle& op, Stack& arguments, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Stack stack = arguments;
    op.callBoxed(&stack);
  }
}

KnownSignatures knownSignatures() {
  KnownSignatures all;
  [&]<int... part>(std::integer_sequence<int, part...>) {
    (addSignatures<part>(all), ...);
  }(std::make_integer_sequence<int, kSignatureParts>());
  return all;
}

}  // namespace

Caller callerOf(const OperatorHandle& op) {
  for (const auto& [run, known] : knownSignatures())
    if (known.fits(op)) return {run, true};
  return {&runBoxed, false};
}

}  // namespace shunt::cli
