#include "src/core/settings.h"

namespace shunt::detail {
namespace {

using Versions = std::array<std::atomic<uint64_t>, kNumSettings>;

// Changed under the dispatcher's lock.
constinit Versions changes{};

}  // namespace

constinit thread_local uint32_t settings_read SHUNT_TLS_MODEL = 0;

uint64_t settingVersion(Setting setting) {
  return 1 + changes[static_cast<size_t>(setting)].load(std::memory_order_acquire);
}

void bumpSettingVersion(Setting setting) noexcept {
  changes[static_cast<size_t>(setting)].fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace shunt::detail
