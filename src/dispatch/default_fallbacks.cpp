// Keys that fall through unless an operator or a program's fallback says otherwise.
#include "src/base/immortal.h"
#include "src/dispatch/dispatcher_impl.h"

#include <shunt/core/library.h>

namespace shunt {
namespace {

// Autograd keys have their own fallback (src/autograd), Python and PythonTLSSnapshot, too (src/interpose);
// Functionalize, Batched, Tracer and Fake have none here: a tensor or mode that carries them brings the kernels
// (Tracer's fallback, in src/trace, is a default too).
constexpr DispatchKey kFallthroughKeys[] = {
    DispatchKey::Named,
    DispatchKey::Conjugate,
    DispatchKey::Negative,
    DispatchKey::ZeroTensor,
    DispatchKey::VmapMode,
    DispatchKey::ADInplaceOrView,
    DispatchKey::AutocastCPU,
    DispatchKey::AutocastCUDA,
    DispatchKey::AutocastXPU,
    DispatchKey::AutocastHPU,
    DispatchKey::AutocastPrivateUse1,
    DispatchKey::AutocastPrivateUse2,
    DispatchKey::AutocastPrivateUse3,
    DispatchKey::BackendSelect,
};

struct Registrar {
  Registrar() : library(Library::Kind::kImpl, "_") {
    for (DispatchKey key : kFallthroughKeys) library.fallback(dispatch(key, CppFunction::makeFallthrough()));
    auto& impl = Dispatcher::singleton().implForHandles();
    MutexLock lock(impl.mutex);
    for (DispatchKey key : kFallthroughKeys) impl.fallbacks.markDefault(key);
  }
  Library library;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace
}  // namespace shunt
