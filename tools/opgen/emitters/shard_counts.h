// How many source files each product is spread over. kernels/CMakeLists.txt lists the files: change both together; a
// test compares its lists with what opgen writes.
#pragma once

#include <cstddef>

namespace opgen {

// The compiler opens whole files' bitcode: what it takes one function of lies in small ones.
inline constexpr size_t kOperatorShards = 20;
inline constexpr size_t kPlannedShards = 20;
inline constexpr size_t kBackendShards = 16;
inline constexpr size_t kInplaceOrViewShards = 8;
inline constexpr size_t kAutogradShards = 16;
inline constexpr size_t kFunctorShards = 13;
inline constexpr size_t kNodeShards = 4;
inline constexpr size_t kRegisterShards = 4;
inline constexpr size_t kPythonShards = 4;

}  // namespace opgen
