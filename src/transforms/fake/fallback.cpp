// What runs an operator on fake tensors: see Note [Fake tensors] (shunt/transforms/fake_tensor.h).
#include <shunt/core/library.h>
#include <shunt/ops.h>
#include <shunt/transforms/fake_tensor.h>

#include "src/base/errors_heard.h"
#include "src/base/immortal.h"
#include "src/dispatch/state_in_use.h"
#include "src/tensor/no_numbers.h"
#include "src/transforms/fake/twins.h"

#include <algorithm>

namespace shunt::fake {
namespace {

constexpr DispatchKeySet kBelowFake = DispatchKeySet::fullAfter(DispatchKey::Fake);
/// What has had its turn when the fallback runs, for the operators that a Meta kernel calls.
constexpr DispatchKeySet kHadTheirTurn = DispatchKeySet::fromRaw(~kBelowFake.raw()).functionalities();

// The reason of the entries that matter, in the world of the running call.
struct Entries {
  bool composite;  // the call goes to a composite
  bool nowhere;    // no argument chooses a backend, and there is no kernel for such calls
  bool meta;       // there is a Meta kernel
};

Entries entriesOf(const OperatorHandle& op, DispatchKeySet below) {
  const detail::StateInUse s(op.op());
  below = below.remove(DispatchKey::PythonKernel);  // modes are asked on the way
  const EntryReason meta = s->lookup(DispatchKeySet(DispatchKey::Meta)).reason;
  const EntryReason reason = s->lookup(below & s->maskFor(below)).reason;
  return {reason == EntryReason::kCompositeImplicit, below.backends().empty() && reason == EntryReason::kMissing,
          meta != EntryReason::kMissing && meta != EntryReason::kAmbiguousAutogradOther};
}

[[noreturn]] void throwDataDependent(const OperatorHandle& op) {
  throw NoNumbersError(detail::str("operator ", op.operator_name(),
                                   ": data-dependent operator on fake tensors: what it does depends on elements, "
                                   "which they don't have; run it on real tensors"));
}

/// Runs the Meta kernel on twins. What is thrown, and heard of that, speaks of the fake tensors in their place.
void runOnTwins(const OperatorHandle& op, DispatchKeySet keys, Stack* stack, const Twins& twins) {
  const detail::ErrorsHeard aside;
  const auto passOn = [&] {
    for (const std::string& message : aside.messages()) aside.passOn(twins.withFakeDevices(message));
  };
  const auto rethrow = [&]<class E>(const E& e) {
    passOn();
    const std::string_view what = e.what();
    if (std::ranges::none_of(kNamesOfTwins,
                             [&](const char* name) { return what.find(name) != std::string_view::npos; }))
      throw;
    throw E(twins.withFakeDevices(std::string(what)), e.where());
  };
  try {
    const ExcludeDispatchKeyGuard exclude(kHadTheirTurn);
    op.redispatchBoxed(keys, stack);
  } catch (const NoNumbersError&) {
    passOn();
    throwDataDependent(op);
  } catch (const IndexError& e) {
    rethrow(e);
  } catch (const NotImplementedError& e) {
    rethrow(e);
  } catch (const TypeError& e) {
    rethrow(e);
  } catch (const ValueError& e) {
    rethrow(e);
  } catch (const Error& e) {
    rethrow(e);
  }
}

void runMetaKernel(const OperatorHandle& op, DispatchKeySet below, Stack* stack) {
  constexpr DispatchKeySet kModes{DispatchKey::PythonKernel};  // below Fake, so what they see are twins
  const FunctionSchema& schema = op.schema();
  Twins twins(schema, *stack);
  runOnTwins(op, DispatchKeySet(DispatchKey::Meta) | (below & kModes), stack, twins);
  twins.replaceReturns(*stack, schema.returns().size());
}

void fallback(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  checkAllFake(op.schema(), *stack);
  const DispatchKeySet below = keys & kBelowFake;
  const Entries entries = entriesOf(op, below);
  if (&op.op() == &ops::detach_::symbol)
    return op.redispatchBoxed(below, stack);                     // changes the tensor's place in the graph
  if (entries.nowhere) return op.redispatchBoxed(below, stack);  // says which argument is undefined
  if (entries.composite) {
    const IncludeDispatchKeyGuard include(DispatchKey::Fake);  // what it makes along the way is fake, too
    return op.redispatchBoxed(below, stack);
  }
  SHUNT_CHECK(entries.meta, "operator ", op.operator_name(),
              ": fake tensors need its Meta kernel, which works out dtypes and shapes, "
              "and there is none; register one: m.impl(\"",
              op.operator_name(), "\", DispatchKey::Meta, ...)");
  runMetaKernel(op, below, stack);
}

void dataDependent(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  // item() of a real tensor in a FakeTensorMode gets here under a dispatch mode only, which is not to change what it
  // does.
  if (!is_fake(stack->back().toTensor())) return op.redispatchBoxed(keys & kBelowFake, stack);
  throwDataDependent(op);
}

// The operators that can't be without elements. Others of the kind call item() in their Meta kernel.
constexpr const char* kDataDependent[] = {"_local_scalar_dense"};

struct Registrar {
  Registrar()
      : every(Library::Kind::kImpl, "_", DispatchKey::Fake), aten(Library::Kind::kImpl, "aten", DispatchKey::Fake) {
    every.fallback(CppFunction::makeFromBoxedFunction<&fallback>());
    for (const char* name : kDataDependent) aten.impl(name, CppFunction::makeFromBoxedFunction<&dataDependent>());
  }
  Library every, aten;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace
}  // namespace shunt::fake
