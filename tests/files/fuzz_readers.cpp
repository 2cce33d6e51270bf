// libFuzzer's target over the readers of files: bin/files_fuzz <folder> [libFuzzer's options].
#include "tests/files/read_anything.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static shunt::test::AnyReader reader;
  reader.read(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
