// Who runs a case: Shunt's interpreter, Shunt's compiled code, or libtorch.
#pragma once

namespace bench {

enum class Side { kInterpreted, kCompiled, kLibtorch };
inline constexpr const char* kSideNames[] = {"interpreted", "compiled", "libtorch"};
inline const char* nameOf(Side side) { return kSideNames[static_cast<int>(side)]; }

}  // namespace bench
