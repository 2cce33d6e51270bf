// Fake tensors: tensors that know their dtype, sizes, strides, aliases, device and graph, and have no elements. A model
// runs on them as on real ones, with the same shapes and the same errors, in no memory and on devices that this machine
// hasn't got.
//
//   shunt::FakeTensorMode mode;
//   Tensor w = shunt::empty({100000, 100000}, shunt::TensorOptions().device(shunt::kCUDA)).requires_grad_();
//   Tensor y = mode.from_tensor(x).to(shunt::kCUDA).mm(w);     // FakeTensor, on cuda:0
//
// Note [Fake tensors]
// A fake tensor is an ordinary TensorImpl with the keys of a real tensor of its device, the key Fake besides, and a
// storage that knows its size and holds nothing; so whatever makes aliases of tensors (views, detach, saved variables,
// set_data) makes fake ones of fake ones. ADInplaceOrView, Autograd and Autocast run on it as ever. The fallback of the
// key Fake, just above the backends, makes for each storage and tensor of the call a twin on Meta, runs the operator's
// Meta kernel on the twins, and gives their dtypes, sizes, strides and aliases to the results and to what was written.
// Twins live for one call. A twin's device is Meta with an index that stands for the fake device, so the kernels
// themselves check devices and say which one a result is on. A composite is not run on twins but as it is, on the fake
// tensors: the operators that it calls record graphs. Compiled thunks don't have the key Fake, and the compiler refuses
// a chain with a boxed kernel: neither meets a fake tensor.
#pragma once

#include <shunt/core/tls.h>
#include <shunt/tensor/tensor.h>

#include <memory>

namespace shunt {

/// Whether `t` is defined and has no elements because it is fake (a tensor on Meta is not fake).
inline bool is_fake(const Tensor& t) { return t.defined() && t.key_set().has(Functionality::Fake); }

/// Makes fake tensors of real ones, and keeps in mind which of which: the same tensor gives the same fake tensor as
/// long as both live, and tensors that share memory give fake ones that do. For one thread at a time. PyTorch's
/// FakeTensorConverter.
class SHUNT_API FakeTensorConverter {
 public:
  FakeTensorConverter();
  ~FakeTensorConverter();
  FakeTensorConverter(const FakeTensorConverter&) = delete;
  FakeTensorConverter& operator=(const FakeTensorConverter&) = delete;
  /// A fake tensor of the same dtype, sizes, strides, offset and device. It requires grad, is a leaf, is a view of a
  /// fake base and has a grad where `t` does; a tensor that isn't a leaf gives the result of a clone. Fake and
  /// undefined tensors come back as they are. Throws for wrapper tensors: unwrap them first.
  Tensor from_tensor(const Tensor& t);

 private:
  struct Memo;
  std::unique_ptr<Memo> memo_;
};

/// from_tensor of a converter of its own.
SHUNT_API Tensor to_fake(const Tensor& t);

/// While it lives, on the thread that made it: factories make fake tensors on the device that they are given, and
/// operators accept fake tensors only; a real tensor among their arguments is an error. Fake tensors work outside of
/// it, too. May be nested with itself and with every other guard, which end in reverse order.
class SHUNT_API FakeTensorMode {
 public:
  FakeTensorMode();
  /// See FakeTensorConverter; one converter for the mode's life.
  Tensor from_tensor(const Tensor& t) { return converter_.from_tensor(t); }
  /// Whether one is active on this thread.
  static bool is_enabled() { return tls_is_included(DispatchKey::Fake); }

 private:
  IncludeDispatchKeyGuard guard_;
  FakeTensorConverter converter_;
};

}  // namespace shunt
