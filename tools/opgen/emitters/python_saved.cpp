// Emits what Python shows of the nodes' saved values (python/src/autograd/saved_attributes.h): for each class of nodes
// the getters of arguments and results that it keeps. Properties, as self.sizes(), have other names in PyTorch and are
// left out.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/saved_values.h"

#include <fmt/format.h>

namespace opgen {

namespace {

constexpr const char* kHead = R"(// What nodes keep for backward, as attributes of their Python objects.
#include "generated/nodes.h"
#include "python/src/autograd/saved_value.h"

namespace shunt::python {

namespace {

using namespace shunt::autograd::generated;

)";

std::string getter(const Derivative& d, const SavedValue& s) {
  const char* what = s.argument == nullptr ? "a result" : "an argument";
  return fmt::format(
      "    {{\"_saved_{0}\", getSaved<&{1}::{0}_, {2}>, nullptr, \"Kept for backward: {3} of the operator.\", "
      "nullptr}},\n",
      s.name, d.node_name, s.is_output, what);
}

}  // namespace

void emitPythonSaved(const Derivatives& derivatives, const Output& out) {
  std::string tables, rows;
  for (const auto& d : derivatives) {
    if (d->nothingDifferentiable()) continue;
    std::string getters;
    for (const SavedValue& s : d->saved)
      if (!s.isProperty()) getters += getter(*d, s);
    if (getters.empty()) continue;
    tables += fmt::format("PyGetSetDef kSavedOf_{}[] = {{\n{}    {{}},\n}};\n", d->node_name, getters);
    rows += fmt::format("    {{\"{0}\", kSavedOf_{0}}},\n", d->node_name);
  }
  out.write("generated/python/saved.cpp", std::string(kBanner) + kHead + tables +
                                              "\n}  // namespace\n\nconst SavedAttributes saved_attributes[] = {\n" +
                                              rows + "    {},\n};\n\n}  // namespace shunt::python\n");
}

}  // namespace opgen
