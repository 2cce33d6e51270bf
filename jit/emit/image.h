// Image: a packed constant made of an object's raw bytes, with pointers at some offsets. A value of one compile.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Constants.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shunt::jit {

class Image {
 public:
  Image(llvm::LLVMContext& context, llvm::ArrayRef<std::byte> bytes) : context_(context), bytes_(bytes) {}

  /// Pointers are put in ascending order of their offsets.
  void put(size_t offset, llvm::Constant* pointer) {
    flush(offset);
    fields_.push_back(pointer);
    at_ = offset + sizeof(void*);
  }
  llvm::Constant* finish() {
    flush(bytes_.size());
    return llvm::ConstantStruct::getAnon(context_, fields_, /*Packed=*/true);
  }

 private:
  void flush(size_t to) {
    if (to == at_) return;
    const auto* first = reinterpret_cast<const uint8_t*>(bytes_.data()) + at_;
    fields_.push_back(llvm::ConstantDataArray::get(context_, llvm::ArrayRef<uint8_t>(first, to - at_)));
    at_ = to;
  }

  llvm::LLVMContext& context_;
  llvm::ArrayRef<std::byte> bytes_;
  std::vector<llvm::Constant*> fields_;
  size_t at_ = 0;
};

}  // namespace shunt::jit
