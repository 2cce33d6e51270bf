// Registers locks that fork() takes first and releases in parent and child. Without this, a lock that another thread
// holds at the fork would stay locked in the child forever.
#pragma once

#include <shunt/core/macros.h>

namespace shunt::detail {

/// Registers a lock. Any thread may call it. Throws shunt::Error for more than 32 locks.
/// - `level`: locks are taken in the order of their levels. src/base/mutex.h lists the library's, from 1 to 4. Locks of
///   users' kernels have level 0.
/// - `in_child` releases the lock in the child, whose only thread is the one that forked. Null means `unlock`.
/// - Call it when the lock's owner is made, before the lock's first use; if possible, when the library is loaded. A
/// fork
///   while another thread initialises a static object leaves the object half made in the child.
SHUNT_API void holdAcrossFork(int level, void (*lock)(), void (*unlock)(), void (*in_child)() = nullptr);

}  // namespace shunt::detail
