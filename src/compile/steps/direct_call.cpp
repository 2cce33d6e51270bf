#include "src/compile/steps/direct_call.h"

#include "src/compile/steps/step.h"
#include "src/dispatch/dispatcher_impl.h"

#include <tuple>

namespace shunt::compiled {
namespace {

/// What an argument of type A refers to during the call.
template <class A>
struct Held {
  using Bare = std::remove_cvref_t<A>;
  static auto of(const Operand& o, Frame&) { return boxing::BoxTraits<Bare>::unbox(const_cast<IValue&>(o.literal)); }
};
template <>
struct Held<const Tensor&> {
  static const Tensor& of(const Operand& o, Frame& frame) {
    return o.kind == Operand::Kind::kTensor ? frame.at(o.source) : frame.none;
  }
};
template <>
struct Held<Tensor&> {
  static Tensor of(const Operand& o, Frame& frame) { return Held<const Tensor&>::of(o, frame); }
};
template <>
struct Held<const std::optional<Tensor>&> {
  static std::optional<Tensor> of(const Operand& o, Frame& frame) {
    if (o.kind != Operand::Kind::kTensor) return std::nullopt;
    const Tensor& t = frame.at(o.source);
    return t.defined() ? std::optional(t) : std::nullopt;
  }
};

void keep(const Step::Result& r, Frame& frame, Tensor t) {
  if (r.slots[0] >= 0) frame.slot(static_cast<size_t>(r.slots[0])) = std::move(t);
}

template <class Signature>
struct Direct;
template <class R, class... A>
struct Direct<R(A...)> {
  static bool call(const Step& step, Frame& frame, const OpState& state) {
    indexed(step, frame, state, std::index_sequence_for<A...>());
    return true;
  }

 private:
  template <size_t... I>
  static void indexed(const Step& step, Frame& frame, const OpState& state, std::index_sequence<I...>) {
    {
      std::tuple<decltype(Held<A>::of(step.operands[I], frame))...> held{Held<A>::of(step.operands[I], frame)...};
      const Operator& op = step.op.op();
      const DispatchKeySet ks =
          detail::effectiveKeys(state, (uint64_t{0} | ... | detail::keysOf(static_cast<A>(std::get<I>(held)))));
      keepAll(step, frame, detail::callInWorld<R, A...>(op, state, ks, static_cast<A>(std::get<I>(held))...));
    }
    for (const Operand& o : step.operands)
      if (o.last) frame.slot(o.source.index).reset();
  }

  template <class T>
  static void keepAll(const Step& step, Frame& frame, T&& result) {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, Tensor>) {
      keep(step.results[0], frame, std::forward<T>(result));
    } else {
      size_t i = 0;
      std::apply([&](auto&&... each) { (keep(step.results[i++], frame, std::forward<decltype(each)>(each)), ...); },
                 std::forward<T>(result));
    }
  }
};

struct Known {
  const CppSignature& (*signature)();
  DirectCall call;
};

template <class... Signatures>
constexpr auto makeTable() {
  return std::array{Known{&CppSignature::of<Signatures>, &Direct<Signatures>::call}...};
}

using T = const Tensor&;
using S = const Scalar&;
using MaybeT = const std::optional<Tensor>&;
using Dtype = std::optional<ScalarType>;
using Ints = IntArrayRef;

constexpr auto kKnown = makeTable<
    Tensor(T), Tensor(T, T), Tensor(T, S), Tensor(T, T, S), Tensor(T, S, S), Tensor(T, T, T), Tensor(T, T, T, S),
    Tensor(T, T, T, S, S), Tensor(T, T, S, S), Tensor(T, int64_t), Tensor(T, int64_t, int64_t), Tensor(T, T, int64_t),
    Tensor(T, int64_t, int64_t, int64_t), Tensor(T, int64_t, bool), Tensor(T, T, int64_t, ScalarType),
    Tensor(T, int64_t, Dtype), Tensor(T, Ints), Tensor(T, Ints, bool), Tensor(T, Ints, Ints),
    Tensor(T, OptionalIntArrayRef, bool, Dtype), Tensor(T, Dtype),
    Tensor(T, Dtype, std::optional<Layout>, std::optional<Device>, std::optional<bool>, std::optional<MemoryFormat>),
    Tensor(T, T, std::string_view), Tensor(T, std::string_view), Tensor(T, T, MaybeT),
    Tensor(T, T, MaybeT, int64_t, int64_t), Tensor(T, T, T, MaybeT, int64_t, int64_t, T),
    Tensor(T, Ints, MaybeT, MaybeT, double, bool), Tensor&(Tensor&), Tensor&(Tensor&, T), Tensor&(Tensor&, S),
    Tensor&(Tensor&, T, S), Tensor&(Tensor&, S, S), Tensor&(Tensor&, T, T), Tensor&(Tensor&, T, T, S),
    Tensor&(Tensor&, T, bool), std::tuple<Tensor, Tensor>(T, T, MaybeT, int64_t, int64_t),
    std::tuple<Tensor, Tensor>(T, int64_t, bool)>();

}  // namespace

DirectCall directCallOf(const OperatorHandle& op) {
  const MutexLock lock(Dispatcher::singleton().implForHandles().mutex);
  const OperatorEntry* entry = op.op().entry();
  const CppSignature* signature = entry != nullptr ? entry->signature() : nullptr;
  if (signature == nullptr) return nullptr;
  for (const Known& known : kKnown)
    if (known.signature() == *signature) return known.call;
  return nullptr;
}

}  // namespace shunt::compiled
