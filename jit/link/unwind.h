// All unwind tables of compiled code as one object of libgcc's.
//
// libgcc keeps registered objects in a list that every exception of the process walks: a thousand of them made a throw ten
// times slower. So all .eh_frame sections of live code are one registered table of pointers. Each change registers a new
// table, then takes the old one out: a throw meanwhile finds one or the other. The sections themselves stay where their
// code is, and live as long. One mutex, held across a fork; any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt::jit::unwind {

/// Code with these tables may run, and be thrown through, after this. `eh_frame` ends with a zero word.
void add(uint64_t eh_frame);
/// No thread is, or comes to be, in code of these tables.
void remove(uint64_t eh_frame);
/// Live sections.
size_t count();

}  // namespace shunt::jit::unwind
