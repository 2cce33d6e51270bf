// The plugin's state, which kernels must not have. Compiled like any other source.
#include "tests/jit/plugin/plugin.h"

#include <atomic>
#include <optional>
#include <thread>

namespace {

std::optional<shunt::Library> library;
std::atomic<int> inside{0};
std::atomic<bool> open{false};

}  // namespace

void plugin::enterGate() {
  inside.fetch_add(1);
  while (!open.load()) std::this_thread::yield();
}

void plugin::drain() { library->drain(); }

void plugin_load() { plugin::addKernels(library.emplace(shunt::Library::Kind::kImpl, "own", shunt::DispatchKey::CPU)); }
void plugin_drain() { plugin::drain(); }
int plugin_inside() { return inside.load(); }
void plugin_open_gate() { open.store(true); }
