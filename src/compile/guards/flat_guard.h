// FlatGuard: what nearly all calls of a variant are, as a few words for each tensor, so that a hit costs some 20
// instructions a tensor. A Guard has one; what doesn't fit it is compared by the Guard in full.
//
// Constant once made; any thread.
#pragma once

#include "src/compile/guards/guard.h"
#include "src/trace/modes.h"

#include <span>

namespace shunt::compiled {

class FlatGuard {
 public:
  /// `captured`: the tensors behind the arguments in `kinds`. Where some tensor has a kind for which there are no such
  /// words (undefined, sharing memory with another one, more than five dimensions, part of a graph, hooks), or autocast
  /// is on, holds() is false always.
  void make(const detail::CompileArguments& arguments, std::span<const TensorKind> kinds,
            std::span<const Tensor> captured, const Graph::Modes& modes, bool offsets);
  /// True: the tensors and the thread's modes are as they were recorded. False: they may be.
  bool holds(const detail::CompileArguments& arguments, std::span<const Tensor> captured) const {
    return usable_ && modes_.areOn() && arguments.tensors.size() == given_ && tensorsHold(arguments, captured);
  }

 private:
  struct Shape {
    uint64_t keys;
    uint16_t signature;  // the device's type is in it
    DeviceIndex device_index;
    uint8_t dim;
    bool strides_follow;  // from the sizes: contiguous, and no dimension is 1, whose stride could be any
    bool wrapped_number;
    int64_t offset;  // to be compared where offsets_ is set
    int64_t sizes[SizesAndStrides::kInline], strides[SizesAndStrides::kInline];
  };
  struct Words {
    Shape shape;
    bool requires_grad, is_leaf;
    int grad = -1;               // of grads_; -1: it has none
    const StorageImpl* storage;  // of a captured tensor
  };
  static bool describe(const Tensor& t, const TensorKind& kind, Shape& out);
  bool add(const Tensor& t, const TensorKind& kind, size_t i);
  bool tensorsHold(const detail::CompileArguments& arguments, std::span<const Tensor> captured) const;
  bool isLike(const Shape& shape, const TensorImpl& impl) const;
  bool holds(const Words& words, const TensorImpl& impl, const detail::CompileArguments& arguments) const;
  bool gradHolds(const Words& words, const AutogradMetaInterface& meta,
                 const detail::CompileArguments& arguments) const;

  template <class Storages>
  bool tensorsHold(Storages&& storages, const detail::CompileArguments& arguments,
                   std::span<const Tensor> captured) const;

  std::vector<Words> words_;  // of the arguments, then of the captured tensors
  std::vector<Shape> grads_;
  trace_detail::ModeWords modes_;
  size_t given_ = 0;
  bool usable_ = false, offsets_ = false;
};

}  // namespace shunt::compiled
