// The twins on Meta of the fake tensors of one call: see Note [Fake tensors] (shunt/transforms/fake_tensor.h).
// A local value of the fallback.
#pragma once

#include <shunt/core/function_schema.h>
#include <shunt/core/ivalue.h>

#include <string>
#include <vector>

namespace shunt::fake {

class Twins {
 public:
  /// Puts twins in the place of the tensors, and devices of twins in the place of devices, among the call's arguments:
  /// the last values of the stack. Throws when fake and real tensors are mixed.
  Twins(const FunctionSchema& schema, Stack& stack);
  /// After the operator ran: the tensors that were passed where it returned their twins, and new fake tensors, in the
  /// place of its returns. What it did to the geometry of a twin, the tensor gets.
  void replaceReturns(Stack& stack, size_t returns);
  /// A message of a kernel with the fake devices' names in it.
  std::string withFakeDevices(std::string message) const;

 private:
  struct OfStorage {
    Storage fake;
    Storage twin;
  };
  struct OfTensor {
    Tensor fake;
    Tensor twin;
  };
  Tensor twinOf(const Tensor& t);
  Tensor makeTwin(const Tensor& t);
  Storage twinOf(const Storage& storage, bool is_fake);
  Storage fakeOf(const Storage& twin);
  Tensor fakeOf(const Tensor& twin);
  Device twinOf(Device device);
  Device fakeOf(Device twin) const;

  std::vector<OfStorage> storages_;
  std::vector<OfTensor> tensors_;
  std::vector<Device> devices_;  // by the index of their twins
  Device result_device_ = kCPU;  // of a result whose kernel doesn't say
  bool mixed_devices_ = false;
};

/// What tells that a message is about twins: see Twins::withFakeDevices.
inline constexpr const char* kNamesOfTwins[] = {"meta:", "(meta ", "_Meta_"};

/// Throws, naming the operator and the argument, where a tensor that isn't fake is among the arguments. Numbers may be.
void checkAllFake(const FunctionSchema& schema, const Stack& stack);

}  // namespace shunt::fake
