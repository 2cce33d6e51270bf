#include "src/trace/stored_schema.h"

#include <shunt/core/error.h>

namespace shunt::trace_detail {
namespace {

bool takes(const Argument& now, const Argument& then) {
  Type as_then = now.type;
  as_then.optional &= then.type.optional;
  return as_then == then.type && now.alias == then.alias && now.container_alias == then.container_alias;
}

[[noreturn]] void refuse(const FunctionSchema& stored, const FunctionSchema& registered, const std::string& why) {
  throw Error(detail::str("operator ", stored.operator_name(), " is registered as ", registered.str(),
                          ", but the graph has ", stored.str(), ": ", why,
                          "; run the file with a library that has that operator, or trace the function again"));
}

}  // namespace

std::vector<std::optional<size_t>> argumentsOfStored(const FunctionSchema& stored, const FunctionSchema& registered) {
  std::vector<std::optional<size_t>> out;
  size_t next = 0;
  for (const Argument& now : registered.arguments()) {
    const bool known = next < stored.arguments().size() && stored.arguments()[next].name == now.name;
    if (known && !takes(now, stored.arguments()[next]))
      refuse(stored, registered, "argument '" + now.name + "' is another one");
    if (!known && !now.default_value)
      refuse(stored, registered, "argument '" + now.name + "' is new, without a default");
    out.push_back(known ? std::optional(next++) : std::nullopt);
  }
  if (next != stored.arguments().size())
    refuse(stored, registered, "argument '" + stored.arguments()[next].name + "' is gone, or in another place");
  if (registered.returns() != stored.returns() || registered.is_vararg() != stored.is_vararg() ||
      registered.is_varret() != stored.is_varret())
    refuse(stored, registered, "the returns are other ones");
  return out;
}

}  // namespace shunt::trace_detail
