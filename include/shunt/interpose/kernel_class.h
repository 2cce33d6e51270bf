// KernelClass: a user-defined class of tensors that stands in place of the kernels. Autograd records on its tensors.
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
// The tensors of the class, and what autograd keeps of them, own the object. It is thread-safe if its handler is.
//
// Note [Kernel classes]
// A TensorSubclass sees a call before everything else, and its graph is that of the inner tensor. A tensor of a
// KernelClass has the key PythonKernel, below Autograd, ADInplaceOrView and Autocast, so the class sees calls where
// kernels would. It corresponds to PyTorch's subclasses with __torch_dispatch__.
//   - Autograd records calls on the tensor itself, by the operators' formulas. Their backward calls the class, too.
//   - Composites arrive as the operators that they call, and arguments arrive cast.
//   - Modes at kKernel are asked before the class.
//   - In handle(), Autograd, ADInplaceOrView and Autocast are off, as in a kernel: what it calls isn't recorded, and
//     what it returns gets its history above.
//   - The object is in the tensor's storage. So every alias that autograd makes of the tensor (a saved result,
//     detach()) is of the class, too.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <memory>
#include <string>

namespace shunt {

class SHUNT_API KernelClass {
 public:
  virtual ~KernelClass();
  /// As DispatchMode::handle. If the handler calls operators on tensors of the class, it is called again; it should
  /// call them on what the tensors hold.
  virtual void handle(const OperatorHandle& op, Stack* stack) = 0;
  /// False passes the call to the class of the next argument. If all decline, the call is an error.
  virtual bool accepts(const OperatorHandle& op, const Stack& stack) const;
  /// The class's name in messages.
  virtual std::string name() const = 0;
};

/// A tensor of the class without data. `strides`, in elements, may be empty for a contiguous one; `options` gives dtype
/// and device. Throws if `of` is null, for negative sizes, and if the numbers of strides and sizes differ.
SHUNT_API Tensor make_class_tensor(std::shared_ptr<KernelClass> of, IntArrayRef sizes, IntArrayRef strides,
                                   int64_t storage_offset, const TensorOptions& options);

/// A tensor of the class with the memory and version counter of `data`, but without its history. Throws if `of` is
/// null, or `data` is undefined or has no data.
SHUNT_API Tensor with_class(std::shared_ptr<KernelClass> of, const Tensor& data);
/// A plain alias, without history, of the data that with_class() was given. Throws for other tensors.
SHUNT_API Tensor without_class(const Tensor& tensor);

/// The object of a tensor's class; null if it has none.
SHUNT_API std::shared_ptr<KernelClass> kernel_class_of(const Tensor& tensor);

}  // namespace shunt
