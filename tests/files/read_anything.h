// The oracle of the readers' fuzzing: any bytes, read as a file of the format that their first byte stands for, are an
// error that is fit to be shown, or tensors that can be read, saved, and loaded again as they were. One thread.
#pragma once

#include <memory>
#include <string>

namespace shunt::test {

class AnyReader {
 public:
  /// In a folder in memory, where there is one.
  AnyReader();
  ~AnyReader();

  /// Whether they were tensors. Throws std::logic_error for what may not be.
  bool read(const std::string& bytes);

 private:
  struct Place;
  std::unique_ptr<Place> place_;
};

}  // namespace shunt::test
