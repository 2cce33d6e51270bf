// Which files of a folder are the dictionary: every *.yaml is, by the end of its name.
#pragma once

#include <string>
#include <vector>

namespace opgen {

struct YamlFiles {
  std::vector<std::string> operators;    // what is none of the others
  std::vector<std::string> derivatives;  // *_derivatives.yaml
  std::vector<std::string> docs;         // *_docs.yaml, none needed
  std::string autocast;                  // autocast.yaml
  std::string batching;                  // batching.yaml
  std::string aliases;                   // aliases.yaml, none needed
};

/// Paths in the order of their names. Fails when another kind is missing.
YamlFiles findYamlFiles(const std::string& folder);

}  // namespace opgen
