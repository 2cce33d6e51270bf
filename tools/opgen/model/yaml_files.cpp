#include "tools/opgen/model/yaml_files.h"

#include "tools/opgen/model/source_place.h"

#include <algorithm>
#include <filesystem>

namespace opgen {

YamlFiles findYamlFiles(const std::string& folder) {
  YamlFiles files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name == "autocast.yaml")
      files.autocast = entry.path().string();
    else if (name == "batching.yaml")
      files.batching = entry.path().string();
    else if (name == "aliases.yaml")
      files.aliases = entry.path().string();
    else if (name.ends_with("_derivatives.yaml"))
      files.derivatives.push_back(entry.path().string());
    else if (name.ends_with("_docs.yaml"))
      files.docs.push_back(entry.path().string());
    else if (name.ends_with(".yaml"))
      files.operators.push_back(entry.path().string());
  }
  if (error) fail({folder, 0}, "can't read the folder");
  for (auto* paths : {&files.operators, &files.derivatives, &files.docs}) std::ranges::sort(*paths);
  const char* missing = files.operators.empty()     ? "<family>.yaml"
                        : files.derivatives.empty() ? "<family>_derivatives.yaml"
                        : files.autocast.empty()    ? "autocast.yaml"
                        : files.batching.empty()    ? "batching.yaml"
                                                    : nullptr;
  if (missing != nullptr) fail({folder, 0}, std::string("the folder has no ") + missing);
  return files;
}

}  // namespace opgen
