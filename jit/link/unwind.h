// The unwind tables of compiled code, as libgcc gets them. One mutex, held across a fork; any thread may call.
//
// How depends on libgcc; see Note [Two kinds of libgcc]. The sections themselves stay where their code is, and live as
// long.
// - kOneTable: all sections of live code are one registered table of pointers. Each change registers a new table, then
//   takes the old one out: a throw meanwhile finds one or the other.
// - kEachSection: each section is an object of its own. No exception waits for another, nor for a change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::jit::unwind {

enum class Scheme { kOneTable, kEachSection, kNone };

/// Code with these tables may run, and be thrown through, after this. `eh_frame` ends with a zero word. False: the
/// unwinder doesn't find them, and nothing is registered; elsewhere it may, see Note [Stale separators].
[[nodiscard]] bool add(uint64_t eh_frame);
/// No thread is, or comes to be, in code of these tables. Allocates nothing, and doesn't fail.
void remove(uint64_t eh_frame);
/// Live sections.
size_t count();

/// For jit/fork.h.
void beforeFork();
void afterFork();

/// What suits this process's libgcc; kNone where compiled code can't be thrown through.
Scheme scheme();
/// For tests. False, and nothing is done, where this libgcc can't bear the scheme or sections are registered.
[[nodiscard]] bool useScheme(Scheme scheme);

}  // namespace shunt::jit::unwind
