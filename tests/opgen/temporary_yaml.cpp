#include "tests/opgen/temporary_yaml.h"

#include <shunt/core/error.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace opgen {

TemporaryYaml::TemporaryYaml() {
  std::string pattern = (std::filesystem::temp_directory_path() / "opgen_test_XXXXXX").string();
  SHUNT_CHECK(mkdtemp(pattern.data()) != nullptr, "can't make a temporary folder");
  directory_ = pattern;
}

TemporaryYaml::~TemporaryYaml() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string TemporaryYaml::write(const std::string& name, const std::string& text) const {
  const std::string path = directory_ + "/" + name;
  std::ofstream(path) << text;
  return path;
}

Model::Model(const std::string& functions, const std::string& derivatives_text)
    : dictionary(readDictionary({files.write("functions.yaml", functions)})),
      derivatives(derivatives_text.empty()
                      ? Derivatives()
                      : readDerivatives({files.write("derivatives.yaml", derivatives_text)}, dictionary)) {}

const OperatorDef& Model::op(const std::string& name, const std::string& overload) const {
  const OperatorDef* op = dictionary.find(name, overload);
  SHUNT_CHECK(op != nullptr, "no operator ", name, ".", overload);
  return *op;
}

std::string readAll(const std::string& functions, const std::string& derivatives, const std::string& autocast) {
  TemporaryYaml files;
  try {
    Dictionary dictionary = readDictionary({files.write("functions.yaml", functions)});
    const Derivatives all = readDerivatives({files.write("derivatives.yaml", derivatives)}, dictionary);
    readAutocast(files.write("autocast.yaml", autocast), dictionary);
  } catch (const shunt::Error& e) {
    std::string message = e.what();
    const std::string folder = files.directory() + "/";
    for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder))
      message.erase(at, folder.size());
    return message;
  }
  return "no error";
}

}  // namespace opgen
