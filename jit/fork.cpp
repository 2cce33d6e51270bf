#include "jit/fork.h"

#include "jit/debug/gdb_object.h"
#include "jit/link/code_slab.h"
#include "jit/link/link_session.h"
#include "jit/link/unwind.h"

#include <shunt/core/fork.h>

namespace shunt::jit {
namespace {

// After the dispatcher's lock, which is of the same level and was named before (src/base/mutex.h).
constexpr int kLevel = 1;

void beforeFork() {
  LinkSession::instance().beforeFork();
  CodeSlabs::instance().beforeFork();
  unwind::beforeFork();
  gdb::beforeFork();
}

void afterForkInParent() {
  gdb::afterFork();
  unwind::afterFork();
  CodeSlabs::instance().afterForkInParent();
  LinkSession::instance().afterFork();
}

void afterForkInChild() {
  gdb::afterFork();
  unwind::afterFork();
  CodeSlabs::instance().afterForkInChild();
  LinkSession::instance().afterFork();
}

}  // namespace

// By the library's table, and not by pthread_atfork: if a handler is installed while a fork runs the others, that fork
// doesn't run it. In the child, another thread may then own its lock, and the child's next fork would wait forever.
// holdAcrossFork waits until no fork is running.
void holdLocksAcrossFork() {
  [[maybe_unused]] static const bool held = [] {
    // The handlers may run on a thread that never asked for these: so they are made now.
    LinkSession::instance();
    CodeSlabs::instance();
    static_cast<void>(unwind::count());
    shunt::detail::holdAcrossFork(kLevel, &beforeFork, &afterForkInParent, &afterForkInChild);
    return true;
  }();
}

}  // namespace shunt::jit
