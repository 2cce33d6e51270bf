#include "tools/opgen/model/docs.h"

#include "tools/opgen/model/near.h"
#include "tools/opgen/model/yaml_util.h"

#include <algorithm>

namespace opgen {

namespace {

/// Doc strings are shown in terminals, indented by what shows them.
constexpr size_t kMaxDocLine = 116;

void checkText(const SourcePlace& place, const std::string& name, const std::string& text) {
  if (text.find("\n>>> ") == std::string::npos)
    fail(place, "the text of '" + name + "' has no example: a line that begins with `>>> `");
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > kMaxDocLine)
      fail(place, "the text of '" + name + "' has a line of " + std::to_string(end - begin) + " characters; at most " +
                      std::to_string(kMaxDocLine));
    begin = end + 1;
  }
}

void readFile(const std::string& path, const Dictionary& dictionary, Docs& docs) {
  const YamlFile file(path);
  for (const YAML::Node& entry : file.entries()) {
    file.checkKeys(entry, {"name", "doc"});
    if (!entry["name"] || !entry["doc"]) fail(file.placeOf(entry), "an entry has 'name' and 'doc'");
    const std::string name = file.text(entry["name"], "name");
    const bool known = std::any_of(dictionary.operators.begin(), dictionary.operators.end(),
                                   [&](const OperatorDef& op) { return op.name() == name; });
    if (!known)
      fail(file.placeOf(entry["name"]),
           "the dictionary has no operator '" + name + "'" + nearOperators(dictionary, name));
    const std::string text = trim(file.text(entry["doc"], "doc"));
    checkText(file.placeOf(entry["doc"]), name, text);
    if (!docs.emplace(name, text).second) fail(file.placeOf(entry["name"]), "'" + name + "' has two texts");
  }
}

}  // namespace

Docs readDocs(const std::vector<std::string>& paths, const Dictionary& dictionary) {
  Docs docs;
  for (const std::string& path : paths) readFile(path, dictionary, docs);
  return docs;
}

}  // namespace opgen
