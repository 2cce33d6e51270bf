// DLPack: tensors shared with other libraries without a copy. The structs have the binary layout of DLPack 0.8, under
// names of their own, so that they do not collide with another dlpack.h: cast the pointers.
//
// toDLPack: the returned struct holds a reference on the tensor until its deleter is called, once, by whoever consumes
// it. fromDLPack: takes over the struct and calls its deleter when the last tensor over the memory is gone; when it
// throws, the struct still is the caller's. Any thread; the deleter runs on whichever thread drops the last tensor.
#pragma once

#include <shunt/tensor/tensor.h>

#include <cstdint>

namespace shunt {

namespace dlpack {

// Numbers as the DLPack standard lists them.
enum DLDeviceType : int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 };
enum DLDataTypeCode : uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6
};

/// A DLDeviceType and the device's number.
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

/// A DLDataTypeCode, bits of an element, and elements of a vector type, which is 1.
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

/// Memory with dtype and shape.
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  /// In elements; null means row-major without gaps.
  int64_t* strides;
  uint64_t byte_offset;
};

/// A DLTensor with what frees it.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  /// May be null.
  void (*deleter)(DLManagedTensor* self);
};

}  // namespace dlpack

/// A CPU tensor that does not require grad, as DLPack. Throws for other devices.
SHUNT_API dlpack::DLManagedTensor* toDLPack(const Tensor& tensor);

/// A tensor over the memory of a DLPack tensor. Throws when the struct is malformed or names a dtype, device or layout
/// that does not exist here.
SHUNT_API Tensor fromDLPack(dlpack::DLManagedTensor* managed);

}  // namespace shunt
