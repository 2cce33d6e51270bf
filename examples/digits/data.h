// The UCI digits: 1,797 images of 8x8 pixels. The first 1,500 rows train, the last 297 (other writers) test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digits {

constexpr int64_t kPixels = 64, kClasses = 10, kRows = 1797, kTrainRows = 1500;

struct Data {
  std::vector<float> images;    // [1797, 64], pixels 0..16 scaled to 0..1
  std::vector<int64_t> labels;  // [1797]
};

/// Reads the gzipped CSV (64 pixels and a label a row). Throws std::runtime_error that names file and row.
Data load(const std::string& path);

/// Row numbers of the training set in the order in which epoch `epoch` visits them; the same on every machine.
std::vector<int64_t> shuffledRows(int epoch);

}  // namespace digits
