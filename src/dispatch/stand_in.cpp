#include <shunt/core/stand_in.h>

#include "src/dispatch/dispatcher_impl.h"

namespace shunt {

RegistrationHandle registerStandIn(const OperatorName& name, DispatchKey key, KernelFunction kernel, const StandIn& as,
                                   std::source_location where) {
  const bool backend =
      isRuntimeKey(key) && key != DispatchKey::Undefined && kBackendFunctionalities.has(partsOf(key).functionality);
  SHUNT_CHECK(backend, "operator ", name, ": a stand-in serves a backend's key; got ", key, " at ", placeOf(where));
  SHUNT_CHECK(as.other != nullptr && as.built_in != nullptr && as.composite != nullptr, "operator ", name,
              ": a stand-in needs the operator and the two kernels that it waits for, at ", placeOf(where));
  return Dispatcher::singleton().implForHandles().registerKernel(name, key, std::move(kernel), where, as);
}

}  // namespace shunt
