#include "tests/files/read_anything.h"

#include <shunt/files/files.h>
#include <shunt/ops.h>

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

namespace shunt::test {

struct AnyReader::Place {
  std::filesystem::path folder;
};

namespace {

using Tensors = std::map<std::string, Tensor>;

struct Kind {
  const char* extension;
  Tensors (*load)(const std::string& path);
  void (*save)(const Tensors& tensors, const std::string& path);
};
constexpr Kind kKinds[] = {
    {".safetensors", &load, [](const Tensors& t, const std::string& path) { save(t, path); }},
    {".npz", &load, [](const Tensors& t, const std::string& path) { save(t, path); }},
    {".npy", [](const std::string& path) { return Tensors{{"", load_npy(path)}}; },
     [](const Tensors& t, const std::string& path) { save_npy(t.at(""), path); }},
};

const Kind& kindOf(const std::string& bytes) {
  return kKinds[bytes.starts_with('P') ? 1 : bytes.starts_with('\x93') ? 2 : 0];
}

/// What a message to a person may be.
void checkMessage(const std::string& message, const std::string& path) {
  const bool printable = std::all_of(message.begin(), message.end(),
                                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
  if (!message.starts_with("load") || message.find("'" + path + "': ") == std::string::npos || !printable ||
      message.size() > 2000)
    throw std::logic_error("an error that is no message: " + message);
}

std::string elementsOf(const Tensor& t) {
  const Tensor c = t.contiguous();
  return c.numel() == 0 ? "" : std::string(static_cast<const char*>(c.data_ptr()), c.nbytes());
}

void checkSame(const Tensors& a, const Tensors& b) {
  const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.dtype() == y.second.dtype() && x.second.sizes().equals(y.second.sizes()) &&
           elementsOf(x.second) == elementsOf(y.second);
  });
  if (!same) throw std::logic_error("tensors that were loaded, saved and loaded again differ");
}

}  // namespace

AnyReader::AnyReader() : place_(std::make_unique<Place>()) {
  const bool in_memory = std::filesystem::is_directory("/dev/shm") && access("/dev/shm", W_OK) == 0;
  std::string made = in_memory ? "/dev/shm/shunt_read_XXXXXX"
                               : (std::filesystem::temp_directory_path() / "shunt_read_XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("can't make a folder " + made);
  place_->folder = made;
}

AnyReader::~AnyReader() {
  std::error_code ignored;
  std::filesystem::remove_all(place_->folder, ignored);
}

bool AnyReader::read(const std::string& bytes) {
  const Kind& kind = kindOf(bytes);
  const std::string path = (place_->folder / (std::string("x") + kind.extension)).string();
  std::ofstream(path, std::ios::binary) << bytes;
  Tensors tensors;
  try {
    tensors = kind.load(path);
  } catch (const Error& e) {
    checkMessage(e.what(), path);
    return false;
  }
  const std::string again = (place_->folder / (std::string("again") + kind.extension)).string();
  kind.save(tensors, again);
  checkSame(tensors, kind.load(again));
  return true;
}

}  // namespace shunt::test
