#include "tools/opgen/model/yaml_util.h"

#include <shunt/core/near_names.h>

#include <algorithm>
#include <set>

namespace opgen {

YamlFile::YamlFile(std::string path) : path_(std::move(path)) {
  try {
    root_ = YAML::LoadFile(path_);
  } catch (const YAML::BadFile&) {
    fail({path_, 0}, "can't read the file");
  } catch (const YAML::ParserException& e) {
    fail({path_, e.mark.line + 1}, "not valid YAML: " + e.msg);
  }
}

SourcePlace YamlFile::placeOf(const YAML::Node& node) const { return {path_, node.Mark().line + 1}; }

std::vector<YAML::Node> YamlFile::entries() const {
  if (root_.IsNull()) return {};
  if (!root_.IsSequence()) fail(placeOf(root_), "expected a list of entries (- key: value)");
  std::vector<YAML::Node> out;
  for (const YAML::Node& entry : root_) {
    if (!entry.IsMap()) fail(placeOf(entry), "expected an entry with keys (- key: value)");
    out.push_back(entry);
  }
  return out;
}

std::string YamlFile::text(const YAML::Node& node, const char* what) const {
  if (!node.IsScalar()) fail(placeOf(node), std::string("expected text for '") + what + "'");
  return trim(node.Scalar());
}

bool YamlFile::boolean(const YAML::Node& node, const char* what) const {
  bool value = false;
  if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value))
    fail(placeOf(node), std::string("expected True or False for '") + what + "'");
  return value;
}

std::vector<std::string> YamlFile::list(const YAML::Node& node, const char* what) const {
  if (node.IsScalar()) return splitList(node.Scalar());
  if (!node.IsSequence()) fail(placeOf(node), std::string("expected a list for '") + what + "'");
  std::vector<std::string> out;
  for (const YAML::Node& element : node) out.push_back(text(element, what));
  return out;
}

void YamlFile::checkKeys(const YAML::Node& map, const std::vector<std::string>& known) const {
  std::set<std::string> seen;
  for (const auto& pair : map) {
    const std::string key = text(pair.first, "key");
    if (!seen.insert(key).second) fail(placeOf(pair.first), "the key '" + key + "' stands twice in one entry");
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string names;
    for (const std::string& k : known) names += (names.empty() ? "" : ", ") + k;
    fail(placeOf(pair.first), "unknown key '" + key + "'; known are " + names + shunt::detail::didYouMean(key, known));
  }
}

std::string trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string> splitList(const std::string& text) {
  std::vector<std::string> out;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (const std::string part = trim(text.substr(begin, end - begin)); !part.empty()) out.push_back(part);
    begin = end + 1;
  }
  return out;
}

}  // namespace opgen
