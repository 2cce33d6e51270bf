#include "tools/opgen/model/aliases.h"

#include "tools/opgen/model/near.h"
#include "tools/opgen/model/yaml_util.h"

#include <algorithm>

namespace opgen {

namespace {

bool hasOperator(const Dictionary& dictionary, const std::string& name) {
  return std::any_of(dictionary.operators.begin(), dictionary.operators.end(),
                     [&](const OperatorDef& op) { return op.name() == name; });
}

void add(Dictionary& dictionary, const SourcePlace& place, const std::string& name, const std::string& of) {
  const bool taken =
      hasOperator(dictionary, name) || std::any_of(dictionary.aliases.begin(), dictionary.aliases.end(),
                                                   [&](const PythonAlias& other) { return other.name == name; });
  if (taken) fail(place, "the name '" + name + "' is taken");
  dictionary.aliases.push_back({name, of});
}

}  // namespace

void readAliases(const std::string& path, Dictionary& dictionary) {
  if (path.empty()) return;
  const YamlFile file(path);
  for (const YAML::Node& entry : file.entries()) {
    file.checkKeys(entry, {"name", "of"});
    if (!entry["name"] || !entry["of"]) fail(file.placeOf(entry), "an entry has 'name' and 'of'");
    const std::string name = file.text(entry["name"], "name"), of = file.text(entry["of"], "of");
    if (!hasOperator(dictionary, of))
      fail(file.placeOf(entry["of"]), "the dictionary has no operator '" + of + "'" + nearOperators(dictionary, of));
    add(dictionary, file.placeOf(entry), name, of);
    if (hasOperator(dictionary, of + "_")) add(dictionary, file.placeOf(entry), name + "_", of + "_");
  }
}

}  // namespace opgen
