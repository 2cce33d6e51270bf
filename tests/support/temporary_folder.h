// A folder of a test's own, so that runs of the same test side by side don't meet. Any thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace shunt::test {

/// Made empty, and removed with what is in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name) {
    std::string made = (std::filesystem::temp_directory_path() / ("shunt_" + name + "_XXXXXX")).string();
    if (mkdtemp(made.data()) == nullptr) throw std::runtime_error("can't make a folder " + made);
    path_ = made;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace shunt::test
