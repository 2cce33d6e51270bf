// What a fork does with the locks of this library.
#pragma once

namespace shunt::jit {

/// A fork takes the locks of the link session, the slabs, the unwind tables and gdb's list, in this order, and gives
/// them back on both sides. To be called before the first link and before a second thread can call anything here;
/// further calls do nothing.
void holdLocksAcrossFork();

}  // namespace shunt::jit
