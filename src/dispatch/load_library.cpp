#include <shunt/core/load_library.h>

#include "src/base/mutex.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/error.h>

#include <dlfcn.h>

#include <set>

namespace shunt {
namespace {

// Before all other locks: static objects and initialisers of a library register. Recursive, as a library may load
// another one. A fork of another thread meanwhile leaves it locked in the child, as it leaves the loader's own.
std::recursive_mutex& loading() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

std::set<void*>& initialised() {
  static auto* const handles = new std::set<void*>;
  return *handles;
}

}  // namespace

void load_library(const std::string& path) {
  SHUNT_CHECK(!path.empty(), "load_library: the path is empty; expected the file of a shared library");
  const std::lock_guard lock(loading());
  void* handle = nullptr;
  {
    Dispatcher::Batch batch;
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw Error(detail::str("load_library(\"", path, "\"): the library can't be loaded: ",
                            reason != nullptr ? reason : "dlopen gives no reason"));
  }
  if (initialised().contains(handle)) return;
  if (void* init = dlsym(handle, "shunt_library_init")) {
    // Also a library that this one is linked with may have one: that is not its own.
    Dl_info of_init{};
    void* own = dladdr(init, &of_init) != 0 ? dlopen(of_init.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (own == handle) reinterpret_cast<void (*)()>(init)();
    if (own != nullptr) dlclose(own);
  }
  initialised().insert(handle);
}

}  // namespace shunt
