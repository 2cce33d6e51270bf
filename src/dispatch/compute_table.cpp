#include "src/dispatch/compute_table.h"

#include "src/dispatch/errors.h"
#include "src/dispatch/operator_entry.h"
#include "src/dispatch/thunk.h"

#include <algorithm>

namespace shunt {
namespace {

using Choice = TableComputer::Choice;

bool isBackendSlot(DispatchKey key) {
  return key == DispatchKey::Undefined || kBackendFunctionalities.has(partsOf(key).functionality);
}

bool isAutogradSlot(DispatchKey key) {
  return key != DispatchKey::Undefined && kAutogradKeys.has(partsOf(key).functionality);
}

bool isAutocastSlot(DispatchKey key) {
  return key != DispatchKey::Undefined && kAutocastKeys.has(partsOf(key).functionality);
}

Choice of(const KernelRecord* record, EntryReason reason) {
  const bool fallthrough = record->kernel.isFallthrough();
  return {record, fallthrough ? EntryReason::kFallthrough : reason, fallthrough};
}

// Backends that share AutogradOther: those with a key of their own but no bit of their own.
constexpr DispatchKey kAutogradOtherBackends[] = {
    DispatchKey::MkldnnCPU, DispatchKey::SparseCsrCPU, DispatchKey::SparseCsrCUDA, DispatchKey::ORT,
    DispatchKey::FPGA,      DispatchKey::Metal,        DispatchKey::Vulkan};

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
  if (implicit_kernel == nullptr || explicit_kernel != nullptr || !compositeServesBelow(kernels, key))
    return std::nullopt;
  if (key == DispatchKey::AutogradOther && anyOtherBackendHasKernel(kernels))
    return Choice{nullptr, EntryReason::kAmbiguousAutogradOther, false};
  return Choice{nullptr, EntryReason::kCompositeHandledBelow, true};
}

std::optional<Choice> chooseAlias(const KernelMap& kernels, DispatchKey key) {
  if (isAutogradSlot(key))
    if (const KernelRecord* alias = kernels.find(DispatchKey::Autograd)) return of(alias, EntryReason::kAutogradAlias);
  if (isAutocastSlot(key))
    if (const KernelRecord* alias = kernels.find(DispatchKey::Autocast)) return of(alias, EntryReason::kAutocastAlias);
  return std::nullopt;
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

// Whether calls with tensors of this backend can come to the key before they come to the backend's own.
bool standsAbove(DispatchKey key, BackendComponent backend) {
  if (key == DispatchKey::Undefined) return false;
  const KeyParts& parts = partsOf(key);
  if (kBackendFunctionalities.has(parts.functionality)) return false;
  if (parts.per_backend) return parts.backend == backend;
  if (kAutocastKeys.has(parts.functionality)) return key == autocastKeyOf(backend);
  return key != DispatchKey::AutogradOther && key != DispatchKey::AutogradNestedTensor;
}

bool isKernel(const KernelRecord* record, const void* unboxed) {
  return record != nullptr && record->kernel.unboxed == unboxed && !record->kernel.functor;
}

bool applies(const KernelRecord& stand_in, const KernelMap& kernels, const KernelMap& fallbacks, DispatchKey key) {
  const KernelMap& others = stand_in.stands_in.of->kernels();
  if (!isKernel(kernels.find(DispatchKey::CompositeExplicitAutograd), stand_in.stands_in.composite)) return false;
  if (!isKernel(others.find(key), stand_in.stands_in.built_in)) return false;
  const BackendComponent backend = partsOf(key).backend;
  const auto passes = [&](DispatchKey above) {
    return !standsAbove(above, backend) || !TableComputer::choose(kernels, fallbacks, above).fallthrough ||
           TableComputer::choose(others, fallbacks, above).fallthrough;
  };
  // For a key without a kernel of either, both have the same: nothing, or the fallback.
  for (const KernelMap* map : {&kernels, &others})
    for (const KernelMap::Slot& slot : map->slots())
      if (isRuntimeKey(slot.key) && !passes(slot.key)) return false;
  const DispatchKey autocast = autocastKeyOf(backend);  // aliases reach this and Autograd's
  return passes(autogradKeyOf(backend)) && (autocast == DispatchKey::Undefined || passes(autocast));
}

/// The newest of the key's kernels that is no stand-in, or one that applies.
SHUNT_NOINLINE const KernelRecord* findApplying(const KernelMap& kernels, const KernelMap& fallbacks, DispatchKey key) {
  const std::vector<KernelRecord>& all = *kernels.records(key);
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const KernelRecord& r) {
    return r.stands_in.of == nullptr || applies(r, kernels, fallbacks, key);
  });
  return found != all.rend() ? &*found : nullptr;
}

}  // namespace

Choice TableComputer::choose(const KernelMap& kernels, const KernelMap& fallbacks, DispatchKey key) {
  const KernelRecord* exact = kernels.find(key);
  if (exact != nullptr && exact->stands_in.of != nullptr) [[unlikely]]
    exact = findApplying(kernels, fallbacks, key);
  if (exact != nullptr) return of(exact, EntryReason::kKernel);
  if (auto composite = chooseComposite(kernels, key)) return *composite;
  if (auto alias = chooseAlias(kernels, key)) return *alias;
  if (const KernelRecord* fallback = fallbacks.find(key)) return of(fallback, EntryReason::kBackendFallback);
  return {};
}

std::unique_ptr<OpState> TableComputer::compute(const Operator* op, const KernelMap& kernels,
                                                const KernelMap& fallbacks, const OpState* previous, uint64_t& world) {
  auto state = std::make_unique<OpState>(op);
  std::array<uint64_t, kNumBackends> masks;
  masks.fill(DispatchKeySet::full().raw());
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const auto key = keyOfSlot(slot);
    const Choice choice = choose(kernels, fallbacks, key);
    TableEntry e = entryFor(choice);
    if (choice.record != nullptr && e.functor != nullptr) state->keep_alive_.push_back(choice.record->kernel.functor);
    const TableEntry* before = previous != nullptr ? &previous->table_[slot] : nullptr;
    e.version = before != nullptr && sameContent(*before, e) ? before->version : ++world;
    if (choice.fallthrough && key != DispatchKey::Undefined) {
      const KeyParts& parts = partsOf(key);
      const uint64_t bit = DispatchKeySet::of(parts.functionality).raw();
      if (parts.per_backend)
        masks[static_cast<size_t>(parts.backend)] &= ~bit;
      else
        for (uint64_t& m : masks) m &= ~bit;
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
    case EntryReason::kMissing:
      return "missing";
    case EntryReason::kKernel:
      return "kernel";
    case EntryReason::kCompositeExplicit:
      return "CompositeExplicitAutograd";
    case EntryReason::kCompositeImplicit:
      return "CompositeImplicitAutograd";
    case EntryReason::kAutogradAlias:
      return "Autograd alias";
    case EntryReason::kAutocastAlias:
      return "Autocast alias";
    case EntryReason::kBackendFallback:
      return "backend fallback";
    case EntryReason::kFallthrough:
      return "fallthrough";
    case EntryReason::kCompositeHandledBelow:
      return "fallthrough: composite runs below";
    case EntryReason::kAmbiguousAutogradOther:
      return "ambiguous AutogradOther";
  }
  return "?";
}

}  // namespace shunt
