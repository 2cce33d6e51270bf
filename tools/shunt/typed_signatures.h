// Loops of typed calls for the signatures of the dictionary's operators, in parts: one file for all takes the compiler
// half a minute.
#pragma once

#include "tools/shunt/typed_calls.h"

#include <shunt/shunt.h>

#include <map>
#include <utility>

namespace shunt::cli {

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
using KnownSignatures = std::map<CallLoop, Known>;

inline constexpr int kSignatureParts = 10;

/// Adds the signatures of every kSignatureParts-th operator, from the part-th on.
template <int part>
void addSignatures(KnownSignatures& all) {
  constexpr int kFirst = __COUNTER__ + 1;
#define SHUNT_OPERATOR(X)                                                                                     \
  if constexpr ((__COUNTER__ - kFirst) % kSignatureParts == part) {                                           \
    using Signature = SignatureOf<decltype(&ops::X::call)>::Type;                                             \
    all.try_emplace(&TypedLoop<Signature>::run, Known{&hasSignature<Signature>, &TypedLoop<Signature>::run}); \
  }
#include "generated/operator_list.inc"
#undef SHUNT_OPERATOR
}

extern template void addSignatures<0>(KnownSignatures&);
extern template void addSignatures<1>(KnownSignatures&);
extern template void addSignatures<2>(KnownSignatures&);
extern template void addSignatures<3>(KnownSignatures&);
extern template void addSignatures<4>(KnownSignatures&);
extern template void addSignatures<5>(KnownSignatures&);
extern template void addSignatures<6>(KnownSignatures&);
extern template void addSignatures<7>(KnownSignatures&);
extern template void addSignatures<8>(KnownSignatures&);
extern template void addSignatures<9>(KnownSignatures&);

}  // namespace shunt::cli
