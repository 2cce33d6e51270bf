#include "src/dispatch/profile.h"

#include "src/dispatch/profile_record.h"

#include <shunt/core/environment.h>
#include <shunt/core/file_size_signal.h>
#include <shunt/core/log.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace shunt::profile {
namespace {

struct Setting {
  bool on = false;
  std::string trace_file;  // empty: the table alone
  pid_t owner = 0;         // a child of fork reports nothing: it would print its parent's calls again
  int64_t began = 0;
};

Setting settingFromEnvironment() {
  Setting s;
  const auto value = detail::environment::read(detail::environment::Variable::kProfile);
  if (value.isFlag(false)) return s;
  s.on = true;
  s.owner = getpid();
  s.began = nanosecondsNow();
  if (!value.isFlag(true)) s.trace_file = value.text;
  if (const size_t at = s.trace_file.find("%p"); at != std::string::npos)
    s.trace_file.replace(at, 2, std::to_string(s.owner));
  return s;
}

const Setting& setting() {
  static const Setting& s = *new Setting(settingFromEnvironment());
  return s;
}

/// All threads', the last one first. Never taken out.
std::atomic<ThreadRecord*> records{nullptr};
constinit thread_local ThreadRecord* mine SHUNT_TLS_MODEL = nullptr;

ThreadRecord& thisThreads() {
  if (mine == nullptr) {
    auto* made = new ThreadRecord(setting().trace_file.empty() ? nullptr : &eventsLeft());
    made->next = records.load(std::memory_order_relaxed);
    while (!records.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {
    }
    mine = made;
  }
  return *mine;
}

void reportAtExit() noexcept try {
  if (getpid() != setting().owner) return;
  const shunt::detail::NoFileSizeSignal guard;  // a trace that is too large is an error like a full disk
  const ThreadRecord* all = records.load(std::memory_order_acquire);
  std::fputs(tableOf(all).c_str(), stderr);
  const std::string& file = setting().trace_file;
  if (!file.empty() && !writeTrace(file, all, setting().began))
    shunt::detail::logWarning("SHUNT_PROFILE: can't write " + file);
} catch (const std::exception& e) {
  shunt::detail::logWarning(std::string("SHUNT_PROFILE: ") + e.what());
}

[[maybe_unused]] const bool installed_at_load = setting().on && std::atexit(&reportAtExit) == 0;

}  // namespace

bool isOn() { return setting().on; }

void begin(const Operator& op, DispatchKeySet keys) { thisThreads().begin(op, keys); }

void end() noexcept { thisThreads().end(); }

}  // namespace shunt::profile
