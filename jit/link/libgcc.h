// What Shunt uses of libgcc's unwinder beyond <unwind.h>, and how the libgcc of this process keeps unwind tables.
//
// Note [Two kinds of libgcc]
// Up to version 12, libgcc keeps registered objects in lists, which every exception of the process walks under one
// lock: a thousand objects made a throw ten times slower. An object may be a table of sections, and may cover what
// another covers. From 13 on it keeps objects in a tree by address range, which exceptions read without a lock. There
// an object whose first address is in the tree already is dropped in silence, and a table of sections can be
// registered, but not deregistered: the table itself is then read as a section. Nothing in libgcc says which it is:
// symbol versions belong to new functions, a libgcc that is built without threads has lists at any version, and the
// unwinder in use may be another library's. So libgccBehaviour() tries what makes the difference.
//
// It asks the libgcc that this library is bound to, which is libstdc++'s too. A library or program that was linked with
// -static-libgcc has one more, for the exceptions that its own frames clean up after; that one can't be reached.
//
// Any thread, unless a function says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

// Declared in no header of libgcc's own. An object is libgcc's, and must stay, from its registration to its
// deregistration.
extern "C" {
struct dwarf_eh_bases {
  void* text;
  void* data;
  void* function;
};
void __register_frame_info(const void* section, void* object);
void __register_frame_info_table(void* table, void* object);
void* __deregister_frame_info(const void* section_or_table);
const void* _Unwind_Find_FDE(void* address, dwarf_eh_bases* bases);
}

namespace shunt::jit::unwind {

/// Memory for libgcc's struct object, which takes 56 bytes.
struct alignas(64) LibgccObject {
  std::byte bytes[64] = {};
};

enum class LibgccBehaviour {
  kLists,    // 12 and older
  kTree,     // 13 and newer
  kUnknown,  // registered sections are not found
};

/// Not at the same time in two threads. Leaves nothing behind, but one probe where the answer is kUnknown.
LibgccBehaviour libgccBehaviour();

/// The addresses that a section's entries cover; empty where it has none.
struct CodeRange {
  uint64_t begin = ~uint64_t{0};
  uint64_t end = 0;
  bool empty() const { return begin >= end; }
};
/// `eh_frame`: as the code generator writes it, with distances of four bytes, and a zero word at its end.
CodeRange codeRange(uint64_t eh_frame);

/// Whether an exception that is at `address` would find its entry. Searches all loaded libraries too.
bool hasEntry(uint64_t address);

}  // namespace shunt::jit::unwind
