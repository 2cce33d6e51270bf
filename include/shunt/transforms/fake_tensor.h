// Fake tensors: tensors with dtype, sizes, strides, aliases, device and graph, but without elements. A model runs on
// them with the shapes and errors of real tensors, but needs no memory, and its devices need not exist.
//
//   shunt::FakeTensorMode mode;
//   Tensor w = shunt::empty({100000, 100000}, shunt::TensorOptions().device(shunt::kCUDA)).requires_grad_();
//   Tensor y = mode.from_tensor(x).to(shunt::kCUDA).mm(w);     // FakeTensor, on cuda:0
//
// Note [Fake tensors]
// A fake tensor is an ordinary TensorImpl. It has the keys of a real tensor of its device and the key Fake, and a
// storage that knows its size and holds nothing. So aliases of fake tensors (views, detach, saved variables, set_data)
// are fake.
//   - ADInplaceOrView, Autograd and Autocast run on fake tensors as on real ones.
//   - The fallback of the key Fake, just above the backends, makes a twin on Meta for each storage and tensor of the
//     call, and runs the operator's Meta kernel on the twins. It gives their dtypes, sizes, strides and aliases to the
//     results and to what was written. Twins live for one call.
//   - The index of a twin's Meta device stands for the fake device. So the kernels themselves check devices, and
//     determine the device of a result.
//   - A composite runs on the fake tensors themselves, because the operators that it calls record graphs.
//   - Compiled code never meets a fake tensor: thunks don't have the key Fake, and the compiler refuses a chain with a
//     boxed kernel.
#pragma once

#include <shunt/core/tls.h>
#include <shunt/tensor/tensor.h>

#include <memory>

namespace shunt {

/// Whether `t` is defined and fake. A tensor on Meta is not fake.
inline bool is_fake(const Tensor& t) { return t.defined() && t.key_set().has(Functionality::Fake); }

/// Makes fake tensors from real ones, and remembers them. The same tensor gives the same fake tensor while both live,
/// and tensors that share memory give fake tensors that share it. For one thread at a time. Follows PyTorch's class of
/// this name.
class SHUNT_API FakeTensorConverter {
 public:
  FakeTensorConverter();
  ~FakeTensorConverter();
  FakeTensorConverter(const FakeTensorConverter&) = delete;
  FakeTensorConverter& operator=(const FakeTensorConverter&) = delete;
  /// A fake tensor with the dtype, sizes, strides, offset and device of `t`. It requires grad, is a leaf, is a view (of
  /// a fake base) and has a (fake) grad if `t` does. If `t` is not a leaf, it is the result of a clone. Returns fake
  /// and undefined tensors unchanged. Throws for wrapper tensors: unwrap them first.
  Tensor from_tensor(const Tensor& t);

 private:
  struct Memo;
  std::unique_ptr<Memo> memo_;
};

/// A fake tensor from a new converter, which is not kept: two calls give two tensors.
SHUNT_API Tensor to_fake(const Tensor& t);

/// While it lives, on the thread that made it, factories make fake tensors on the given device, and operators throw for
/// a real tensor among their arguments. Fake tensors also work outside the mode. Modes nest with each other and with
/// all guards; they must end in reverse order.
class SHUNT_API FakeTensorMode {
 public:
  FakeTensorMode();
  /// FakeTensorConverter::from_tensor, with one converter for the mode's life.
  Tensor from_tensor(const Tensor& t) { return converter_.from_tensor(t); }
  /// Whether a mode is active on this thread.
  static bool is_enabled() { return tls_is_included(DispatchKey::Fake); }

 private:
  IncludeDispatchKeyGuard guard_;
  FakeTensorConverter converter_;
};

}  // namespace shunt
