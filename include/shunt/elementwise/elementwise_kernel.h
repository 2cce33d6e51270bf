// ElementwiseKernel: marks a kernel that was made from a functor, and gives the functor's descriptor.
//
// Library::elementwise makes such kernels. vmap calls them once for a whole batch. The descriptor must outlive the
// kernel. Constant; any thread.
#pragma once

#include <shunt/core/kernel_function.h>
#include <shunt/elementwise/kernel_descriptor.h>

namespace shunt::elementwise {

/// The second base class of a kernel's functor object.
class SHUNT_API ElementwiseKernel {
 public:
  explicit ElementwiseKernel(const KernelDescriptor& descriptor) : descriptor_(descriptor) {}
  virtual ~ElementwiseKernel();
  /// The constants that the functor declares.
  const KernelDescriptor& descriptor() const { return descriptor_; }

 private:
  const KernelDescriptor& descriptor_;
};

/// A marked kernel that runs `call`, whose first arguments are the functor's inputs.
template <class Call>
KernelFunction kernelOfFunctor(const KernelDescriptor& descriptor, Call call) {
  using T = boxing::FunctionTraits<Call>;
  using Holder = boxing::FunctorKernel<Call, typename T::Return, typename T::Args>;
  struct Known final : Holder, ElementwiseKernel {
    Known(Call call, const KernelDescriptor& of) : Holder(std::move(call)), ElementwiseKernel(of) {}
  };
  KernelFunction kernel = KernelFunction::fromFunctor(call);
  kernel.functor = make_intrusive<Known>(std::move(call), descriptor);
  return kernel;
}

}  // namespace shunt::elementwise
