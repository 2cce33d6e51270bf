// What a format of several tensors can do. One file each: safetensors.cpp, npz.cpp. Any thread.
#pragma once

#include "src/files/savable.h"

#include "src/base/input_file.h"
#include "src/base/new_file.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::files {

using Tensors = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

struct Format {
  std::string_view extension;
  /// Throws for what the format has no place for, before a file is made.
  void (*check)(const AboutFile& about, const std::vector<Savable>& tensors, const Metadata& metadata);
  void (*save)(detail::NewFile& file, const std::vector<Savable>& tensors, const Metadata& metadata);
  Tensors (*load)(const detail::InputFile& file);
  Metadata (*metadata)(const detail::InputFile& file);
};

extern const Format kSafetensors, kNpz;

}  // namespace shunt::files
