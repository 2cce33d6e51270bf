// What the tests of files share: a folder, bytes, and tensors of every kind. One thread.
#pragma once

#include "tests/support/same_bits.h"
#include "tests/support/temporary_folder.h"

#include <shunt/files/files.h>
#include <shunt/shunt.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace shunt::test {

inline constexpr ScalarType kAllDtypes[] = {kBool, kByte, kChar,     kShort, kInt,
                                            kLong, kHalf, kBFloat16, kFloat, kDouble};

class FileFolder {
 public:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Names of all that is in it.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      out.push_back(entry.path().filename().string());
    return out;
  }

 private:
  TemporaryFolder folder_{"files"};
};

/// Numbers that every dtype has, each in its turn; bools take turns in threes.
inline Tensor numbered(IntArrayRef sizes, ScalarType dtype) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  const Tensor count = shunt::arange(n, kLong);
  const Tensor flat = dtype == kBool ? count.remainder(3).eq(0) : count.remainder(101).to(dtype);
  return flat.reshape(sizes).clone();
}

inline std::string bytesOf(const Tensor& t) {
  const Tensor c = t.detach().contiguous();
  return {static_cast<const char*>(c.data_ptr()), c.nbytes()};
}

inline std::string littleEndian(uint64_t n, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? n >> (8 * i) & 0xff : 0);
  return out;
}

/// A .safetensors file of this header, without padding.
inline std::string safetensors(const std::string& header, const std::string& data) {
  return littleEndian(header.size(), 8) + header + data;
}

/// An .npy file of this dict.
inline std::string npy(const std::string& dict, const std::string& data, int version = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         littleEndian(dict.size(), version == 1 ? 2 : 4) + dict + data;
}

}  // namespace shunt::test
