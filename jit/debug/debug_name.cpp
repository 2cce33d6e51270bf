#include "jit/debug/debug_name.h"

#include <algorithm>

namespace shunt::jit {

std::string debugName(const Plan& plan) {
  std::string out = "shunt:" + plan.op.name + "{" + shunt::toString(DispatchKeySet::fromRaw(plan.request.keys)) + "}(";
  bool first = true;
  for (uint64_t rest = plan.request.signature; rest != 0; rest >>= 16) {
    const auto signature = static_cast<uint16_t>(rest);
    if (!first) out += ',';
    first = false;
    out += signature == 0 ? "-" : shunt::toString(shunt::detail::signature::dtypeOf(signature));
  }
  out += ')';
  out.erase(std::remove(out.begin(), out.end(), ' '), out.end());
  return out;
}

}  // namespace shunt::jit
