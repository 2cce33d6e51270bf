// Errors about one tensor of a file: they name the file and the tensor. Any thread.
#pragma once

#include "src/base/about_file.h"

#include <string>

namespace shunt::files {

using detail::AboutFile;
using detail::shown;

struct AboutTensor {
  const AboutFile& file;
  const std::string* name;  // null: the only one of the file

  template <class... Parts>
  [[noreturn]] SHUNT_COLD void fail(const Parts&... parts) const {
    file.fail(name != nullptr ? "tensor " + shown(*name) : std::string("the array"), ": ", parts...);
  }
};

}  // namespace shunt::files
