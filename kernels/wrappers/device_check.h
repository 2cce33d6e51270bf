// CommonDevice: the check that all tensors of a call are on one device. For the generated backend wrappers; a local
// value.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::wrappers {

[[noreturn]] SHUNT_COLD void throwDifferentDevices(const char* method, const char* argument, Device first,
                                                   Device other);

class CommonDevice {
 public:
  /// `method` for the message; it must outlive this object.
  explicit CommonDevice(const char* method) : method_(method) {}

  void check(const Tensor& t, const char* argument) {
    if (!t.defined()) return;
    const Device device = t.device();
    if (!known_) {
      device_ = device;
      known_ = true;
    } else if (!(device == device_)) [[unlikely]] {
      throwDifferentDevices(method_, argument, device_, device);
    }
  }
  void check(const std::optional<Tensor>& t, const char* argument) {
    if (t) check(*t, argument);
  }
  void check(TensorList list, const char* argument) {
    for (const Tensor& t : list) check(t, argument);
  }
  void check(TensorOptList list, const char* argument) {
    for (const auto& t : list) check(t, argument);
  }

 private:
  const char* method_;
  Device device_ = kCPU;
  bool known_ = false;
};

}  // namespace shunt::wrappers
