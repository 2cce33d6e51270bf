// How many source files each product is spread over. kernels/CMakeLists.txt lists the files: change both together; a
// test compares its lists with what opgen writes.
#pragma once

#include <cstddef>

namespace opgen {

inline constexpr size_t kOperatorShards = 20;
inline constexpr size_t kBackendShards = 8;
inline constexpr size_t kInplaceOrViewShards = 4;
inline constexpr size_t kAutogradShards = 8;
inline constexpr size_t kFunctorShards = 13;
inline constexpr size_t kNodeShards = 4;
inline constexpr size_t kRegisterShards = 4;

}  // namespace opgen
