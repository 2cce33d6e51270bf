// Tensors on their way to a file. Any thread.
#pragma once

#include "src/files/about_tensor.h"

#include <shunt/tensor/tensor.h>

#include <span>
#include <vector>

namespace shunt::files {

/// A tensor that has elements, and the name under which it is saved.
struct Savable {
  const std::string* name;
  const Tensor* tensor;

  AboutTensor about(const AboutFile& file) const { return {file, name}; }
};

/// Throws for a tensor without elements to save.
void checkSavable(const AboutTensor& about, const Tensor& tensor);

/// Throws where two of them share memory, naming both.
void checkUnshared(const AboutFile& about, const std::vector<Savable>& tensors);

/// The elements in row-major order, on the CPU, as long as this lives: the tensor's own where they lie that way.
class Elements {
 public:
  explicit Elements(const Tensor& tensor);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  Tensor held_;
  std::span<const std::byte> bytes_;
};

}  // namespace shunt::files
