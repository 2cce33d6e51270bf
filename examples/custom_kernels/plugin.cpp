// A library that is loaded and unloaded: it replaces a kernel for as long as it is loaded.
#include <shunt/shunt.h>

#include <optional>

namespace {

shunt::Tensor leakyRelu(const shunt::Tensor& x) { return shunt::where(x.gt(0), x, x * 0.5); }

std::optional<shunt::Library> registered;

}  // namespace

extern "C" __attribute__((visibility("default"))) void plugin_load() {
  registered.emplace(shunt::Library::Kind::kImpl, "aten", shunt::DispatchKey::CPU);
  registered->impl("relu", shunt::CppFunction::makeUnboxed<&leakyRelu>());
}

// Waits for calls of other threads that began before; after it, dlclose is safe.
extern "C" __attribute__((visibility("default"))) void plugin_unload() { registered->drain(); }
