#include "src/dispatch/reliance.h"

namespace shunt::detail {

constinit thread_local Reliance* reliance SHUNT_TLS_MODEL = nullptr;

}  // namespace shunt::detail
