// A process-wide setting's change: as a registration's, with the setting in the place of the changed operators.
// Note [Settings and thunks] (src/core/settings.h).
#include "src/core/settings.h"
#include "src/dispatch/dispatcher_impl.h"

namespace shunt {

void detail::changeProcessSetting(Setting setting, FunctionRef<bool()> differs, FunctionRef<void()> store,
                                  const std::string& becomes) {
  AfterUnlock after;
  auto& impl = Dispatcher::singleton().implForHandles();
  MutexLock lock(impl.mutex);
  if (!differs()) return;
  const auto storeAndBump = [&] {
    store();
    bumpSettingVersion(setting);
  };
  Change change;
  change.setting.emplace(Change::SettingChange{setting, becomes, storeAndBump});
  impl.findStale(change);
  impl.apply(change);
  after.states = impl.collect(false);
}

}  // namespace shunt
