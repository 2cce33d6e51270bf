// YAML files for one test, in a folder of its own that is removed with the object.
#pragma once

#include "tools/opgen/model/autocast.h"
#include "tools/opgen/model/derivatives.h"
#include "tools/opgen/model/dictionary.h"

#include <string>

namespace opgen {

class TemporaryYaml {
 public:
  TemporaryYaml();
  ~TemporaryYaml();
  TemporaryYaml(const TemporaryYaml&) = delete;
  TemporaryYaml& operator=(const TemporaryYaml&) = delete;
  /// Writes and returns the path.
  std::string write(const std::string& name, const std::string& text) const;
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

/// A dictionary and derivatives from text.
struct Model {
  explicit Model(const std::string& functions, const std::string& derivatives = "");
  TemporaryYaml files;
  Dictionary dictionary;
  Derivatives derivatives;
  const OperatorDef& op(const std::string& name, const std::string& overload = "") const;
};

/// Reads the three files; the message of the error, with the folder's name cut out, or "no error".
std::string readAll(const std::string& functions, const std::string& derivatives = "",
                    const std::string& autocast = "{}");

}  // namespace opgen
