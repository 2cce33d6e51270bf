#include "tools/shunt/typed_calls.h"

#include <shunt/shunt.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shunt::cli {
namespace {

template <class Signature>
struct TypedLoop;
template <class R, class... A>
struct TypedLoop<R(A...)> {
  static void run(const OperatorHandle& op, Stack& arguments, int64_t n) {
    runIndexed(op.typed<R(A...)>(), arguments, n, std::index_sequence_for<A...>());
  }

 private:
  template <size_t... I>
  static void runIndexed(const TypedOperatorHandle<R(A...)>& op, [[maybe_unused]] Stack& arguments, int64_t n,
                         std::index_sequence<I...>) {
    callRepeatedly(op, n, boxing::BoxTraits<std::remove_cvref_t<A>>::unbox(arguments[I])...);
  }
  template <class... Unboxed>
  static void callRepeatedly(const TypedOperatorHandle<R(A...)>& op, int64_t n, Unboxed&&... a) {
    for (int64_t i = 0; i < n; ++i) op.call(a...);
  }
};

void runBoxed(const OperatorHandle& op, Stack& arguments, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Stack stack = arguments;
    op.callBoxed(&stack);
  }
}

template <class F>
struct SignatureOf;
template <class R, class... A>
struct SignatureOf<R (*)(A...)> {
  using Type = R(A...);
};

template <class Signature>
bool hasSignature(const OperatorHandle& op) {
  try {
    op.typed<Signature>();
    return true;
  } catch (const Error&) {
    return false;
  }
}

struct Known {
  bool (*fits)(const OperatorHandle&);
  CallLoop run;
};

/// One a signature.
std::map<CallLoop, Known> knownSignatures() {
  std::map<CallLoop, Known> all;
#define SHUNT_OPERATOR(X)                                                                                     \
  {                                                                                                           \
    using Signature = SignatureOf<decltype(&ops::X::call)>::Type;                                             \
    all.try_emplace(&TypedLoop<Signature>::run, Known{&hasSignature<Signature>, &TypedLoop<Signature>::run}); \
  }
#include "generated/operator_list.inc"
#undef SHUNT_OPERATOR
  return all;
}

}  // namespace

Caller callerOf(const OperatorHandle& op) {
  for (const auto& [run, known] : knownSignatures())
    if (known.fits(op)) return {run, true};
  return {&runBoxed, false};
}

}  // namespace shunt::cli
