// Locks that a fork takes first and gives back on both sides, so that no other thread's is held in the child for ever.
#pragma once

#include <shunt/core/macros.h>

namespace shunt::detail {

/// Locks are taken in the order of their levels; src/base/mutex.h has the library's, from 1 to 4, and those of users'
/// kernels come before: 0. To be called when the lock's owner is made, before the first use of the lock, and at load
/// where that can be: a fork while another thread initialises a static object leaves it half made. Any thread.
/// `in_child`: what gives it back in the child, where only the thread that forked is left; null: `unlock`.
SHUNT_API void holdAcrossFork(int level, void (*lock)(), void (*unlock)(), void (*in_child)() = nullptr);

}  // namespace shunt::detail
