#include "src/dispatch/compute_table.h"

#include "src/dispatch/errors.h"
#include "src/dispatch/thunk.h"

namespace shunt {
namespace {

using Choice = TableComputer::Choice;

bool isBackendSlot(DispatchKey key) {
  return key == DispatchKey::Undefined || kBackendFunctionalities.has(partsOf(key).functionality);
}

bool isAutogradSlot(DispatchKey key) {
  return key != DispatchKey::Undefined && kAutogradKeys.has(partsOf(key).functionality);
}

Choice of(const KernelRecord* record, EntryReason reason) {
  const bool fallthrough = record->kernel.isFallthrough();
  return {record, fallthrough ? EntryReason::kFallthrough : reason, fallthrough};
}

// Backends that share AutogradOther: those with a key of their own but no bit of their own.
constexpr DispatchKey kAutogradOtherBackends[] = {DispatchKey::MkldnnCPU, DispatchKey::SparseCsrCPU, DispatchKey::SparseCsrCUDA,
                                                  DispatchKey::ORT,       DispatchKey::FPGA,         DispatchKey::Metal,
                                                  DispatchKey::Vulkan};

bool anyOtherBackendHasKernel(const KernelMap& kernels) {
  for (DispatchKey k : kAutogradOtherBackends)
    if (kernels.find(k) != nullptr) return true;
  return false;
}

// Whether a composite serves the backend slot that this Autograd slot stands above.
bool compositeServesBelow(const KernelMap& kernels, DispatchKey autograd) {
  if (autograd == DispatchKey::AutogradOther || autograd == DispatchKey::AutogradNestedTensor) return true;
  return kernels.find(toRuntimeKey(Functionality::Dense, partsOf(autograd).backend)) == nullptr;
}

std::optional<Choice> chooseComposite(const KernelMap& kernels, DispatchKey key) {
  const KernelRecord* explicit_kernel = kernels.find(DispatchKey::CompositeExplicitAutograd);
  const KernelRecord* implicit_kernel = kernels.find(DispatchKey::CompositeImplicitAutograd);
  if (isBackendSlot(key)) {
    if (explicit_kernel != nullptr) return of(explicit_kernel, EntryReason::kCompositeExplicit);
    if (implicit_kernel != nullptr) return of(implicit_kernel, EntryReason::kCompositeImplicit);
    return std::nullopt;
  }
  if (!isAutogradSlot(key)) return std::nullopt;
  if (const KernelRecord* alias = kernels.find(DispatchKey::Autograd)) return of(alias, EntryReason::kAutogradAlias);
  if (implicit_kernel == nullptr || explicit_kernel != nullptr || !compositeServesBelow(kernels, key)) return std::nullopt;
  if (key == DispatchKey::AutogradOther && anyOtherBackendHasKernel(kernels))
    return Choice{nullptr, EntryReason::kAmbiguousAutogradOther, false};
  return Choice{nullptr, EntryReason::kCompositeHandledBelow, true};
}

TableEntry entryFor(const Choice& choice) {
  TableEntry e;
  e.reason = choice.reason;
  if (choice.record != nullptr) {
    const KernelFunction& k = choice.record->kernel;
    e.unboxed = k.unboxed;
    e.boxed = k.boxed;
    e.functor = k.functor.get();
  } else if (choice.reason == EntryReason::kCompositeHandledBelow) {
    e.boxed = &KernelFunction::fallthroughKernel;
  } else {
    e.boxed = choice.reason == EntryReason::kAmbiguousAutogradOther ? &ambiguousAutogradOtherKernel : &missingKernel;
  }
  return e;
}

bool sameContent(const TableEntry& a, const TableEntry& b) {
  return a.unboxed == b.unboxed && a.boxed == b.boxed && a.functor == b.functor && a.reason == b.reason;
}

}  // namespace

Choice TableComputer::choose(const KernelMap& kernels, const KernelMap& fallbacks, DispatchKey key) {
  if (const KernelRecord* exact = kernels.find(key)) return of(exact, EntryReason::kKernel);
  if (auto composite = chooseComposite(kernels, key)) return *composite;
  if (const KernelRecord* fallback = fallbacks.find(key)) return of(fallback, EntryReason::kBackendFallback);
  return {};
}

std::unique_ptr<OpState> TableComputer::compute(const Operator* op, const KernelMap& kernels, const KernelMap& fallbacks,
                                                const OpState* previous, uint64_t& world) {
  auto state = std::make_unique<OpState>(op);
  std::array<uint64_t, kNumBackends> masks;
  masks.fill(DispatchKeySet::full().raw());
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const auto key = static_cast<DispatchKey>(slot);
    const Choice choice = choose(kernels, fallbacks, key);
    TableEntry e = entryFor(choice);
    if (choice.record != nullptr && e.functor != nullptr) state->keep_alive_.push_back(choice.record->kernel.functor);
    const TableEntry* before = previous != nullptr ? &previous->table_[slot] : nullptr;
    e.version = before != nullptr && sameContent(*before, e) ? before->version : ++world;
    if (choice.fallthrough && key != DispatchKey::Undefined) {
      const KeyParts& parts = partsOf(key);
      const uint64_t bit = DispatchKeySet::of(parts.functionality).raw();
      if (parts.per_backend) masks[static_cast<size_t>(parts.backend)] &= ~bit;
      else for (uint64_t& m : masks) m &= ~bit;
    }
    state->table_[slot] = e;
  }
  state->mask_ = DispatchKeySet::fromRaw(masks[0]);
  for (int b = 0; b < kNumBackends; ++b) {
    state->backend_masks_[b] = DispatchKeySet::fromRaw(masks[b]);
    state->mask_per_backend_ |= masks[b] != masks[0];
  }
  return state;
}

bool TableComputer::equal(const OpState& a, const OpState& b) {
  for (int slot = 0; slot < kNumSlots; ++slot)
    if (!sameContent(a.table_[slot], b.table_[slot])) return false;
  return a.mask_per_backend_ == b.mask_per_backend_ && a.backend_masks_ == b.backend_masks_;
}

const char* toString(EntryReason reason) {
  switch (reason) {
    case EntryReason::kMissing: return "missing";
    case EntryReason::kKernel: return "kernel";
    case EntryReason::kCompositeExplicit: return "CompositeExplicitAutograd";
    case EntryReason::kCompositeImplicit: return "CompositeImplicitAutograd";
    case EntryReason::kAutogradAlias: return "Autograd alias";
    case EntryReason::kBackendFallback: return "backend fallback";
    case EntryReason::kFallthrough: return "fallthrough";
    case EntryReason::kCompositeHandledBelow: return "fallthrough: composite runs below";
    case EntryReason::kAmbiguousAutogradOther: return "ambiguous AutogradOther";
  }
  return "?";
}

}  // namespace shunt
