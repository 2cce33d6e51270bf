// A tensor whose elements are in a file until an operator uses them, and while it runs only. It has no views: what is
// written to one would not come to the file.
#pragma once

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>

#include <cstdio>
#include <fstream>

namespace examples {

class OnDiskTensor : public shunt::TensorSubclass {
 public:
  /// Writes `t` to the file, which goes when this tensor goes.
  OnDiskTensor(const shunt::Tensor& t, std::string path)
      : TensorSubclass(t.sizes(), shunt::TensorOptions(t.dtype())), path_(std::move(path)) {
    store(t);
  }
  ~OnDiskTensor() override { std::remove(path_.c_str()); }

  shunt::Tensor load() const {
    ++loads;
    shunt::Tensor t = shunt::empty(sizes(), shunt::TensorOptions(dtype()));
    std::ifstream file(path_, std::ios::binary);
    SHUNT_CHECK(file.read(static_cast<char*>(t.data_ptr()), static_cast<std::streamsize>(t.nbytes())),
                "OnDiskTensor: can't read ", path_);
    return t;
  }
  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    std::vector<std::pair<shunt::Tensor, shunt::Tensor>> used;  // and what is in memory of it
    shunt::mapTensors(*stack, stack->size(), [&](const shunt::Tensor& t) {
      const auto* on_disk = shunt::wrapper_cast<OnDiskTensor>(t);
      return on_disk == nullptr ? t : used.emplace_back(t, on_disk->load()).second;
    });
    op.callBoxed(stack);
    for (const auto& [tensor, memory] : used) {
      if (memory._version() != 0) shunt::wrapper_cast<OnDiskTensor>(tensor)->store(memory);
      shunt::mapTensors(*stack, stack->size(), [&, &tensor = tensor, &memory = memory](const shunt::Tensor& result) {
        if (result.is_same(memory)) return tensor;
        SHUNT_CHECK(!result.is_alias_of(memory), "OnDiskTensor: operator ", op.operator_name(),
                    " makes a view, and there are none of a "
                    "file; clone() the tensor first");
        return result;
      });
    }
  }

  static inline int loads = 0;

 private:
  void store(const shunt::Tensor& t) const {
    SHUNT_CHECK(t.sizes() == sizes(), "OnDiskTensor: its shape is ", sizes(), ", and it can't become ", t.sizes());
    const shunt::Tensor memory = t.detach().contiguous();
    std::ofstream file(path_, std::ios::binary);
    SHUNT_CHECK(file.write(static_cast<const char*>(memory.data_ptr()), static_cast<std::streamsize>(memory.nbytes())),
                "OnDiskTensor: can't write ", path_);
  }

  std::string path_;
};

}  // namespace examples
