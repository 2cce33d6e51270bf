// Locks that a fork takes first and gives back on both sides, so that no other thread's is held in the child for ever.
#pragma once

namespace shunt::detail {

/// `level` as in mutex.h: locks are taken in its order. To be called when the lock's owner is made, before the first use of the
/// lock, and at load where that can be: a fork while another thread initialises a static object leaves it half made. Any
/// thread.
void holdAcrossFork(int level, void (*lock)(), void (*unlock)());

}  // namespace shunt::detail
