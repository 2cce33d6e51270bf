// Reading YAML with errors that name file and line. Each function fails on the place of the node it was given.
#pragma once

#include "tools/opgen/model/source_place.h"

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

namespace opgen {

class YamlFile {
 public:
  /// Fails when the file is missing or is not YAML.
  explicit YamlFile(std::string path);
  const YAML::Node& root() const { return root_; }
  SourcePlace placeOf(const YAML::Node& node) const;
  SourcePlace place() const { return {path_, 0}; }

  /// The entries of a sequence of maps at the top; an empty file has none.
  std::vector<YAML::Node> entries() const;
  std::string text(const YAML::Node& node, const char* what) const;
  bool boolean(const YAML::Node& node, const char* what) const;
  /// A list, or one text with commas between the elements.
  std::vector<std::string> list(const YAML::Node& node, const char* what) const;
  /// Fails on a key that is none of `known`, or that stands twice.
  void checkKeys(const YAML::Node& map, const std::vector<std::string>& known) const;

 private:
  std::string path_;
  YAML::Node root_;
};

std::string trim(const std::string& text);
std::vector<std::string> splitList(const std::string& text);

}  // namespace opgen
