// The structs of DLPack 1.x that include/shunt/tensor/dlpack.h doesn't have: tensors with a version and flags, and the
// table of functions of __dlpack_c_exchange_api__. Their layout is the standard's.
#pragma once

#include <shunt/tensor/dlpack.h>

namespace shunt::python {

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};
inline constexpr DLPackVersion kDLPackVersion{1, 3};

inline constexpr uint64_t kDLFlagReadOnly = 1, kDLFlagIsCopied = 2;

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  /// May be null.
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  dlpack::DLTensor dl_tensor;
};
static_assert(sizeof(DLManagedTensorVersioned) == 80);

/// Each function returns 0, or -1 with Python's error set.
struct DLPackExchangeApi {
  DLPackVersion version;
  DLPackExchangeApi* previous;
  int (*allocate)(dlpack::DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*fromObject)(void* object, DLManagedTensorVersioned** out);
  int (*toObject)(DLManagedTensorVersioned* tensor, void** out);
  int (*viewOfObject)(void* object, dlpack::DLTensor* out);
  int (*currentStream)(int32_t device_type, int32_t device_id, void** out);
};

}  // namespace shunt::python
