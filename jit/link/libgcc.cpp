#include "jit/link/libgcc.h"

#include <algorithm>
#include <cstring>

namespace shunt::jit::unwind {
namespace {

// A section with one entry, for one byte that is no code.
struct alignas(8) ProbeSection {
  uint32_t cie_length = 12, cie_id = 0;
  uint8_t version = 1, augmentation = 0, code_alignment = 1, data_alignment = 0x78 /* -8 */, return_column = 16;
  uint8_t cie_padding[3] = {};
  uint32_t fde_length = 20, distance_to_cie = 20;
  uint64_t begin = 0, size = 1;
  uint32_t end = 0;
};
static_assert(offsetof(ProbeSection, fde_length) == 16 && offsetof(ProbeSection, begin) == 24 &&
              offsetof(ProbeSection, end) == 40);

struct Probe {
  ProbeSection section;
  LibgccObject object;
};

template <class T>
T readAt(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

}  // namespace

// Two sections over one byte, and the first one out: a list still has the second, a tree never had it.
LibgccBehaviour libgccBehaviour() {
  static char byte;
  // Not given back: see Note [Objects are read after the lock].
  static Probe& first = *new Probe;
  static Probe& second = *new Probe;
  const auto at = reinterpret_cast<uint64_t>(&byte);
  first.section.begin = second.section.begin = at;
  __register_frame_info(&first.section, &first.object);
  if (!hasEntry(at)) return LibgccBehaviour::kUnknown;
  __register_frame_info(&second.section, &second.object);
  __deregister_frame_info(&first.section);
  if (!hasEntry(at)) return LibgccBehaviour::kTree;
  __deregister_frame_info(&second.section);
  return LibgccBehaviour::kLists;
}

CodeRange codeRange(uint64_t eh_frame) {
  CodeRange range;
  while (const auto length = readAt<uint32_t>(eh_frame)) {
    const bool is_cie = readAt<uint32_t>(eh_frame + 4) == 0;
    if (!is_cie) {
      const uint64_t begin = eh_frame + 8 + static_cast<uint64_t>(int64_t{readAt<int32_t>(eh_frame + 8)});
      range.begin = std::min(range.begin, begin);
      range.end = std::max(range.end, begin + readAt<uint32_t>(eh_frame + 12));
    }
    eh_frame += 4 + length;
  }
  return range;
}

bool hasEntry(uint64_t address) {
  dwarf_eh_bases bases;
  return _Unwind_Find_FDE(reinterpret_cast<void*>(address), &bases) != nullptr;
}

}  // namespace shunt::jit::unwind
