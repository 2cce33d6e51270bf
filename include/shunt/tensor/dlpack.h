// DLPack: shares tensors with other libraries without a copy. The structs have the binary layout of DLPack 0.8. They
// are in a namespace, so that they do not collide with another dlpack.h; cast the pointers.
//
// - toDLPack: the struct holds a reference on the tensor. The consumer calls its deleter exactly once.
// - fromDLPack: takes ownership of the struct, and calls its deleter when the last tensor over the memory is destroyed.
//   When fromDLPack throws, the caller still owns the struct.
// - Threads: any. The deleter runs on the thread that drops the last tensor.
#pragma once

#include <shunt/tensor/tensor.h>

#include <cstdint>

namespace shunt {

namespace dlpack {

// The numbers are those of the DLPack standard.
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

/// `code` is a DLDataTypeCode, `bits` the size of an element. `lanes` is the length of a vector type; always 1 here.
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

/// Memory with a dtype and a shape.
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  /// Strides count elements. Null means row-major without gaps.
  int64_t* strides;
  uint64_t byte_offset;
};

/// A DLTensor and the function that frees it.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  /// May be null.
  void (*deleter)(DLManagedTensor* self);
};

}  // namespace dlpack

/// Exports a CPU tensor and pins its storage. Throws for other devices, for tensors that require grad, and for tensors
/// without data.
SHUNT_API dlpack::DLManagedTensor* toDLPack(const Tensor& tensor);

/// Imports a tensor over the memory of a DLPack tensor. Throws when the struct is malformed, or when Shunt lacks its
/// dtype, device or layout.
SHUNT_API Tensor fromDLPack(dlpack::DLManagedTensor* managed);

}  // namespace shunt
