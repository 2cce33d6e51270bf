// Layout and MemoryFormat: how a tensor's elements are stored, and the order of a dense tensor's dimensions in memory.
// The numbers are PyTorch's. Constants only; any thread.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>
#include <ostream>

namespace shunt {

/// How elements are stored. Kernels exist for Strided only.
enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn };
inline constexpr Layout kStrided = Layout::Strided;
inline constexpr Layout kSparse = Layout::Sparse;

/// The order of dimensions in memory. Preserve keeps the order of the input.
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

inline const char* toString(Layout l) {
  constexpr const char* kNames[] = {"Strided", "Sparse", "SparseCsr", "Mkldnn"};
  return kNames[static_cast<int>(l)];
}
inline const char* toString(MemoryFormat f) {
  constexpr const char* kNames[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return kNames[static_cast<int>(f)];
}
inline std::ostream& operator<<(std::ostream& out, Layout l) { return out << toString(l); }
inline std::ostream& operator<<(std::ostream& out, MemoryFormat f) { return out << toString(f); }

}  // namespace shunt
