#include "kernels/linalg/blas.h"

#include <shunt/core/error.h>
#include <shunt/core/isa.h>
#include <shunt/core/log.h>
#include <shunt/core/thread_signals.h>

#include <dlfcn.h>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace shunt::linalg {

namespace {

constexpr const char* kSoname = "libopenblas.so.0";
constexpr const char* kVariable = "OPENBLAS_CORETYPE";

/// What a run of the loader found; the table is complete where `error` is empty.
struct Loaded {
  BlasFunctions functions{};
  void* library = nullptr;
  std::string error;
};

bool isSlow(const std::string& core) {
  return shunt::detail::bestIsa() != Isa::kBaseline &&
         (core == "Prescott" || core == "Core2" || core == "Penryn" || core == "Generic" || core == "unknown");
}

const char* coreOfThisCpu() { return shunt::detail::bestIsa() == Isa::kV4 ? "SkylakeX" : "Haswell"; }

/// By its usual name, or where it was when libshunt was built.
void* openLibrary(int flags) {
  if (void* library = dlopen(kSoname, RTLD_NOW | RTLD_LOCAL | flags)) return library;
  return dlopen(SHUNT_OPENBLAS_PATH, RTLD_NOW | RTLD_LOCAL | flags);
}

template <class F>
void find(void* library, const char* name, F& function, Loaded& loaded) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr && loaded.error.empty()) loaded.error = std::string("it has no function ") + name;
}

std::string coreOf(void* library) {
  const auto name = reinterpret_cast<decltype(&openblas_get_corename)>(dlsym(library, "openblas_get_corename"));
  return name == nullptr ? "" : name();
}

BlasKernels kernelsOf(std::string_view core) {
  if (core == "SkylakeX" || core == "Cooperlake" || core == "SapphireRapids") return BlasKernels::kAvx512;
  if (core == "Haswell" || core == "Zen") return BlasKernels::kAvx2;
  if (core == "Nehalem" || core == "Sandybridge") return BlasKernels::kSse;
  return BlasKernels::kOther;
}

/// See Note [OpenBLAS's kernels].
void* openWithFastKernels() {
  if (void* present = openLibrary(RTLD_NOLOAD)) return present;
  const shunt::detail::NoSignals no_signals;  // it starts its threads as it is loaded
  void* library = openLibrary(0);
  if (library == nullptr || std::getenv(kVariable) != nullptr || !isSlow(coreOf(library))) return library;
  dlclose(library);
  setenv(kVariable, coreOfThisCpu(), 0);
  library = openLibrary(0);
  unsetenv(kVariable);
  return library;
}

Loaded load() {
  Loaded loaded;
  void* library = openWithFastKernels();
  if (library == nullptr) {
    const char* reason = dlerror();
    loaded.error = reason != nullptr ? reason : "not found";
    return loaded;
  }
  loaded.library = library;
  BlasFunctions& f = loaded.functions;
  find(library, "cblas_sgemm", f.sgemm, loaded);
  find(library, "cblas_dgemm", f.dgemm, loaded);
  find(library, "cblas_sgemv", f.sgemv, loaded);
  find(library, "cblas_dgemv", f.dgemv, loaded);
  find(library, "cblas_sdot", f.sdot, loaded);
  find(library, "cblas_ddot", f.ddot, loaded);
  find(library, "openblas_get_num_threads", f.get_num_threads, loaded);
  find(library, "openblas_set_num_threads", f.set_num_threads, loaded);
  find(library, "openblas_get_corename", f.get_corename, loaded);
  if (!loaded.error.empty()) return loaded;
  f.kernels = kernelsOf(f.get_corename());
  f.small_nt_is_slow = f.kernels == BlasKernels::kAvx512;
  return loaded;
}

/// Never destroyed: kernels may run while the process exits. Never closed.
const Loaded& loadedBlas() {
  static const Loaded& once = *new Loaded(load());
  return once;
}

// While the library is loaded most programs have one thread: setting the environment later could race with a getenv.
[[maybe_unused]] const Loaded& at_load = loadedBlas();

}  // namespace

constinit std::atomic<const BlasFunctions*> blas_in_use{nullptr};

const BlasFunctions& firstUseOfBlas() {
  const Loaded& loaded = loadedBlas();
  SHUNT_CHECK(loaded.error.empty(), "matrix products need OpenBLAS (", kSoname,
              "), which can't be loaded: ", loaded.error, ". On Debian: apt-get install libopenblas0-pthread");
  static std::once_flag warned;
  std::call_once(warned, [&] {
    const std::string core = loaded.functions.get_corename();
    if (isSlow(core) && std::getenv(kVariable) == nullptr)
      shunt::detail::logWarning("OpenBLAS was loaded before Shunt, does not know this CPU and uses its kernels for '" +
                                core + "': matrix products are slow. Set OPENBLAS_CORETYPE=" + coreOfThisCpu() +
                                " in the environment of the program.");
  });
  blas_in_use.store(&loaded.functions, std::memory_order_release);
  return loaded.functions;
}

void* symbolOfBlas(const char* name) {
  serialBlas();  // throws without a library
  void* symbol = dlsym(loadedBlas().library, name);
  SHUNT_CHECK(symbol != nullptr, "factors of matrices need an OpenBLAS with LAPACK, but ", kSoname, " has no function ",
              name, ". On Debian: apt-get install libopenblas0-pthread");
  return symbol;
}

BlasIdentity identityOfBlas() {
  const Loaded& loaded = loadedBlas();
  if (!loaded.error.empty()) return {"", "", "", loaded.error};
  const auto config = reinterpret_cast<decltype(&openblas_get_config)>(dlsym(loaded.library, "openblas_get_config"));
  const std::string text = config != nullptr ? config() : "OpenBLAS";
  Dl_info place{};
  dladdr(reinterpret_cast<const void*>(loaded.functions.sgemm), &place);
  // Its name and version; options of its build follow.
  return {text.substr(0, text.find(' ', text.find(' ') + 1)), place.dli_fname != nullptr ? place.dli_fname : kSoname,
          loaded.functions.get_corename(), ""};
}

BlasKernels kernelsOfBlas() { return loadedBlas().functions.kernels; }

std::string blasCoreName() { return serialBlas().get_corename(); }

}  // namespace shunt::linalg
