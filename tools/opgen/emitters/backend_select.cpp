// Emits the BackendSelect wrappers of factories.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

namespace opgen {

namespace {
constexpr const char* kHead =
    R"(// Factories have no tensor to dispatch on: the requested device says which backend's kernel runs.
#include "generated/wrappers.h"
#include "kernels/wrappers/factory_keys.h"

#include <shunt/core/kernel_function.h>

namespace shunt {

)";
}  // namespace

void emitBackendSelect(const Dictionary& dictionary, const Output& out, Registrations& registrations) {
  std::string text = std::string(kBanner) + kHead;
  for (const OperatorDef& op : dictionary.operators) {
    if (!op.isFactory() || op.isCompositeImplicit()) continue;
    text += fmt::format("namespace wrappers::backend_select {{\n{} {}({}) {{\n  return {};\n}}\n}}\n", returnType(op),
                        op.cpp_name, parameters(op),
                        redispatchCall(op, fmt::format("factoryKeys({}, layout, device)", quoted(op.name()))));
    registrations.push_back({&op, "BackendSelect", "&wrappers::backend_select::" + op.cpp_name, false});
    text += instantiateKernel(registrations.back());
  }
  out.write("generated/backend_select.cpp", text + "\n}  // namespace shunt\n");
}

}  // namespace opgen
