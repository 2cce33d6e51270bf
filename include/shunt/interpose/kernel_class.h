// KernelClass: tensors of a program's own class that stand in the kernels' place, with a graph of their own.
//
//   struct Doubled : shunt::KernelClass {
//     explicit Doubled(shunt::Tensor half) : half(std::move(half)) {}
//     void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override { ... }
//     std::string name() const override { return "Doubled"; }
//     shunt::Tensor half;
//   };
//   auto x = shunt::make_class_tensor(std::make_shared<Doubled>(t), t.sizes(), t.strides(), 0, t.options());
//   x.requires_grad_();  (x * x).sum().backward();  // MulBackward0; x.grad() is a Doubled if its handler makes one
//
// The object is owned by the tensors of the class and by what autograd keeps of them; as safe among threads as its
// handler is.
//
// Note [Kernel classes]
// A TensorSubclass takes a call before anything else does, and its graph is that of the tensor inside. A tensor of a
// KernelClass is met where kernels are: it carries the key PythonKernel, below Autograd, ADInplaceOrView and Autocast.
// So autograd records calls on the tensor itself, by the operators' own formulas, and their backward meets the class
// too; composites come as the operators that they call; arguments come cast. The modes at kKernel are asked before the
// class. In handle() Autograd, ADInplaceOrView and Autocast are off, as in a kernel: what it calls isn't recorded, and
// what it returns gets its history above. It is what PyTorch's subclasses with __torch_dispatch__ are.
// The object stands in the tensor's storage, so that every alias which autograd makes of the tensor (a saved result,
// detach()) is of the class too.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <memory>
#include <string>

namespace shunt {

class SHUNT_API KernelClass {
 public:
  virtual ~KernelClass();
  /// As DispatchMode::handle. Calls on tensors of the class come here again, to be called on what they hold.
  virtual void handle(const OperatorHandle& op, Stack* stack) = 0;
  /// Declines a call in favour of the next argument's class. When all decline, the call is an error.
  virtual bool accepts(const OperatorHandle& op, const Stack& stack) const;
  /// For messages.
  virtual std::string name() const = 0;
};

/// A tensor without data that looks as told; `strides` as many as `sizes`, or none for a contiguous one; `options`:
/// dtype and device. Throws on negative sizes and on strides of another length.
SHUNT_API Tensor make_class_tensor(std::shared_ptr<KernelClass> of, IntArrayRef sizes, IntArrayRef strides,
                                   int64_t storage_offset, const TensorOptions& options);

/// A tensor of the class on the data of another, whose version counter it shares, without that one's history. Throws
/// for undefined tensors and those without data of their own.
SHUNT_API Tensor with_class(std::shared_ptr<KernelClass> of, const Tensor& data);
/// A plain alias of what with_class() was given, without history. Throws for other tensors.
SHUNT_API Tensor without_class(const Tensor& tensor);

/// The object; null for tensors of no kernel class.
SHUNT_API std::shared_ptr<KernelClass> kernel_class_of(const Tensor& tensor);

}  // namespace shunt
