// The elementwise plan: what PyTorch's TensorIterator works out before its loop: common dtype, device, broadcast shape,
// output and its layout, overlap checks, order of dimensions. The result is an Iteration, which execute.h runs.
//
// A plan lives on the caller's stack, refers to the request's tensors, and allocates nothing but the output. Any
// thread.
#pragma once

#include "kernels/pointwise/iteration.h"
#include "kernels/pointwise/run.h"

namespace shunt::elementwise {

/// What the output is.
enum class OutputKind : uint8_t {
  kNew,      // allocated with the inputs' layout
  kOut,      // given; resized when its shape is not the result's
  kInplace,  // given; its shape must be the result's
};

class Plan {
 public:
  /// Checks everything and makes or resizes the output. Throws before it changes anything.
  Plan(const Request& request, OutputKind kind, Tensor& out);
  /// Runs the loop; nothing on Meta.
  void execute();
  ScalarType common() const { return common_; }
  /// What execute() would run; its arrays are filled on CPU, where there are elements.
  const Iteration& iteration() const { return iteration_; }
  /// Whether no input shares memory with a given output but the output itself.
  bool outputIsApart() const;

 private:
  /// See stream.h.
  bool streamsOutput() const;
  void checkDefined() const;
  void resolveDevice();
  void resolveShape();
  void broadcast(IntArrayRef sizes);
  void resolveTypes();
  void resolveInputStrides();
  void resolveOrder();
  void makeOutput();
  void resizeOutput(IntArrayRef strides);
  bool layoutOfInputs(int64_t* strides) const;
  void storeScalars();
  void buildIteration();
  void setStrides(int operand, IntArrayRef sizes, IntArrayRef strides, int64_t itemsize);
  int compareDims(int a, int b) const;
  /// Strides of an input that is a tensor, as they count for the order of dimensions.
  IntArrayRef layoutOf(int i) const {
    const TensorImpl& t = *request_.inputs[i].tensor;
    return copied_[i] ? IntArrayRef(copied_strides_[i], t.sizes().size()) : t.strides();
  }
  IntArrayRef shape() const { return {shape_, static_cast<size_t>(ndim_)}; }
  bool outputGiven() const { return kind_ != OutputKind::kNew; }
  int numOperands() const { return 1 + request_.op.num_inputs; }

  const Request& request_;
  OutputKind kind_;
  Tensor& out_;
  Device device_{kCPU};
  ScalarType common_ = ScalarType::Undefined;
  ScalarType result_ = ScalarType::Undefined;
  bool will_resize_ = false;
  bool same_shapes_ = true;  // every input has the result's shape
  int ndim_ = -1;            // -1: no input seen yet
  int64_t shape_[kMaxDims];
  // Operand 0 is the output. In bytes, in the order of shape_; 0 where broadcast.
  int64_t strides_[kMaxOperands][kMaxDims];
  bool copied_[kMaxInputs];  // not dense and cast: what counts is the layout of its copy, in elements:
  int64_t copied_strides_[kMaxInputs][kMaxDims];
  int perm_[kMaxDims];  // fastest dimension first
  ScalarType dtypes_[kMaxOperands];
  ScalarSlot numbers_[kMaxInputs];
  ScalarSlot scalars_[kMaxScalars];
  LoopFn loop_ = nullptr;
  Iteration iteration_;
};

/// The error of an element for which the functor is undefined: names the operator and its operands.
[[noreturn]] SHUNT_COLD void throwInvalidElement(const Request& request);

}  // namespace shunt::elementwise
