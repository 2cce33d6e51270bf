// SettingsWatch: which process-wide settings a call reads, and their versions from before it. Note [Settings and
// thunks] (src/core/settings.h).
//
// Lives on the stack of, or is owned by, the thread that it watches; watches nest. Nothing here throws.
#pragma once

#include "src/core/settings.h"

#include <shunt/jit/provider.h>

#include <bit>
#include <utility>

namespace shunt::jit {

/// Nothing where the setting is there already: of two versions the older one counts.
inline void add(const SettingRead& read, SettingsRead& reads) {
  SettingRead* place = reads.data();
  while (place->setting != read.setting && place->setting >= 0) ++place;
  if (place->setting < 0) *place = read;
}

class SettingsWatch {
 public:
  SettingsWatch() : read_before_(std::exchange(shunt::detail::settings_read, 0)) {
    for (const SettingInfo& s : kSettings)
      if (s.kind == SettingKind::kProcessWide)
        versions_[static_cast<size_t>(s.setting)] = shunt::detail::settingVersion(s.setting);
  }
  ~SettingsWatch() { shunt::detail::settings_read |= read_before_; }
  SettingsWatch(const SettingsWatch&) = delete;
  SettingsWatch& operator=(const SettingsWatch&) = delete;

  /// Adds what was read so far.
  void addTo(SettingsRead& reads) const {
    for (const SettingInfo& s : kSettings)
      if ((shunt::detail::settings_read & kProcessWideSettings & bitOf(s.setting)) != 0)
        add({static_cast<int>(s.setting), versions_[static_cast<size_t>(s.setting)]}, reads);
  }

 private:
  static_assert(std::popcount(kProcessWideSettings) <= kMaxSettingsRead);

  const uint32_t read_before_;            // by calls around the watched one
  uint64_t versions_[kNumSettings] = {};  // of process-wide settings
};

}  // namespace shunt::jit
