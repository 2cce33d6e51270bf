#include "src/transforms/autocast/cast_cache.h"

#include <shunt/transforms/autocast.h>

#include <unordered_map>

namespace shunt {
namespace {

struct CachedCast {
  weak_intrusive_ptr<StorageImpl> storage;
  int64_t offset;
  std::vector<int64_t> sizes, strides;
  ScalarType from, to;
  uint32_t version;
  const TensorImpl* leaf;  // that the result's graph leads to, and holds; null where none was recorded
  Tensor result;

  bool matches(const TensorImpl& t, ScalarType wanted, bool records) const {
    return storage.unsafeGet() == t.storage().get() && !storage.expired() && offset == t.storage_offset() &&
           from == t.dtype() && to == wanted && version == t.version().current() && leaf == (records ? &t : nullptr) &&
           t.sizes() == IntArrayRef(sizes) && t.strides() == IntArrayRef(strides);
  }
};

struct Cache {
  std::unordered_multimap<const StorageImpl*, CachedCast> entries;
  uint64_t hits = 0, misses = 0;
};

Cache& threadCache() {
  static thread_local Cache cache;
  return cache;
}

DispatchKey autocastKey(DeviceType device) {
  const DispatchKey key = autocastKeyOf(backendOf(device));
  SHUNT_CHECK(key != DispatchKey::Undefined && deviceTypeOf(backendOf(device)) == device, "autocast: device type ",
              device, " has no autocast");
  return key;
}

// Whether an operator called now would record a graph.
bool recordsGraph() { return !tls_excluded().hasAny(DispatchKeySet::of(Functionality::AutogradFunctionality)); }

bool cacheable(ScalarType to, const Tensor& t, DeviceType device) {
  return (detail::tls_state.mode & detail::kModeCastCache) != 0 && to == autocast::lower_precision_dtype(device) &&
         t.dtype() == kFloat && t.requires_grad() && t.is_leaf() && !t.is_view() &&
         !t.key_set().has(Functionality::Batched);  // whose level ends before the guard may
}

}  // namespace

AutocastGuard::AutocastGuard(DeviceType device, ScalarType dtype, bool enabled, bool cache_enabled) : device_(device) {
  const uint64_t bit = DispatchKeySet(autocastKey(device)).functionalities().raw();
  SHUNT_CHECK(isReducedFloatingType(dtype), "autocast on ", device, " supports the types BFloat16 and Half, got ",
              dtype);
  auto& s = detail::tls_state;
  saved_dtype_ = s.autocast_dtype[static_cast<size_t>(device)];
  saved_excluded_ = s.user_excluded;
  saved_mode_ = s.mode;
  s.autocast_dtype[static_cast<size_t>(device)] = dtype;
  s.user_excluded = enabled ? s.user_excluded & ~bit : s.user_excluded | bit;
  s.mode = cache_enabled ? s.mode | detail::kModeCastCache : s.mode & ~detail::kModeCastCache;
  ++s.autocast_nesting;
  detail::refreshExcluded(s);
}

AutocastGuard::~AutocastGuard() {
  auto& s = detail::tls_state;
  const uint64_t bit = DispatchKeySet(autocastKeyOf(backendOf(device_))).functionalities().raw();
  s.autocast_dtype[static_cast<size_t>(device_)] = saved_dtype_;
  s.user_excluded = (s.user_excluded & ~bit) | (saved_excluded_ & bit);
  s.mode = (s.mode & ~detail::kModeCastCache) | (saved_mode_ & detail::kModeCastCache);
  detail::refreshExcluded(s);
  if (--s.autocast_nesting == 0) autocast::clear_cache();
}

namespace autocast {

bool is_enabled(DeviceType device) { return !tls_is_excluded(autocastKey(device)); }

void clear_cache() { threadCache().entries.clear(); }

struct CastCacheAside::Kept {
  decltype(Cache::entries) entries;
};

CastCacheAside::CastCacheAside() : kept_(std::make_unique<Kept>()) { kept_->entries.swap(threadCache().entries); }
CastCacheAside::~CastCacheAside() { kept_->entries.swap(threadCache().entries); }

CacheStats cache_stats() {
  const Cache& c = threadCache();
  return {c.entries.size(), c.hits, c.misses};
}

Tensor cached_cast(ScalarType to, const Tensor& arg, DeviceType device) {
  if (!is_eligible(arg, device) || arg.dtype() == to) return arg;
  if (!cacheable(to, arg, device)) return arg.to(to);
  Cache& cache = threadCache();
  const TensorImpl& impl = *arg.unsafeGetTensorImpl();
  const bool records = recordsGraph();
  const auto [first, last] = cache.entries.equal_range(impl.storage().get());
  for (auto it = first; it != last; ++it)
    if (it->second.matches(impl, to, records)) {
      ++cache.hits;
      return it->second.result;
    }
  ++cache.misses;
  Tensor result = arg.to(to);
  cache.entries.emplace(
      impl.storage().get(),
      CachedCast{weak_intrusive_ptr<StorageImpl>(impl.storage()), impl.storage_offset(), impl.sizes().vec(),
                 impl.strides().vec(), impl.dtype(), to, impl.version().current(), records ? &impl : nullptr, result});
  return result;
}

std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& arg, DeviceType device) {
  if (!arg) return std::nullopt;
  return cached_cast(to, *arg, device);
}

std::vector<Tensor> cached_cast(ScalarType to, TensorList arg, DeviceType device) {
  std::vector<Tensor> out;
  out.reserve(arg.size());
  for (const Tensor& t : arg) out.push_back(cached_cast(to, t, device));
  return out;
}

}  // namespace autocast
}  // namespace shunt
