#include "tools/opgen/model/near.h"

#include <shunt/core/near_names.h>

namespace opgen {

std::string nearOperators(const Dictionary& dictionary, const std::string& name) {
  std::vector<std::string> names;
  for (const OperatorDef& op : dictionary.operators) {
    names.push_back(op.name());
    const std::string& overload = op.schema.overload_name();
    if (!overload.empty() && name.find('.') != std::string::npos) names.push_back(op.name() + "." + overload);
  }
  return shunt::detail::didYouMean(name, names);
}

std::string nearArguments(const shunt::FunctionSchema& schema, const std::string& name) {
  std::vector<std::string> names;
  for (const shunt::Argument& a : schema.arguments()) names.push_back(a.name);
  return shunt::detail::didYouMean(name, names);
}

}  // namespace opgen
