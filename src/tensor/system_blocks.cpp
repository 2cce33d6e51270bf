// Note [Forks and the system's blocks]
// oneTBB's allocator takes locks in its slow paths and knows nothing of fork(): a child forked while another thread
// held one would wait for it for ever. So a fork waits until no thread is inside the allocator, and threads wait
// outside meanwhile.
//
//   thread  T1 in_system = true (seq_cst)   T2 forking (seq_cst): another thread's -> in_system = false, wait, T1
//           T3 the allocator's work         T4 in_system = false (release)
//   fork    F1 lock the list of all threads' lists, forking = own lists (seq_cst)
//           F2 wait until in_system (seq_cst) is false of every other thread   F3 fork
//           F4 in the child: in_system = false of all   F5 in both: forking = null (release), wake, unlock
//
// Of T1/T2 and F1/F2 at least one sees the other's store, since all four are in one order.
//
// A thread's end is inside too, as the allocator takes locks in a destructor of its own key:
//
//   end     E1 as T1 and T2, with `ending`   E2 destructors of other keys, among them the allocator's
//           E3 in the next round of destructors: ending = false (release), forget the lists
//
// Of E2 others than the allocator's may wait for a lock that the fork took before, and of a thread whose lists were
// made late there may be no next round; so F2 waits for `ending` no longer than kForAnEnd, and no fork waits for it
// again.
#include "src/tensor/system_blocks.h"

#include "src/base/mutex.h"

#include <shunt/core/fork.h>

#include <pthread.h>
#include <sched.h>
#include <tbb/scalable_allocator.h>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace shunt::detail {
namespace {

// Under the sanitizers malloc, which they know.
#ifdef SHUNT_STRESS
constexpr bool kUseMalloc = true;
#else
constexpr bool kUseMalloc = false;
#endif

constinit std::atomic<ThreadLists*> forking{nullptr};  // lists of the thread that forks

struct AllLists {
  Mutex mutex;
  ThreadLists* first SHUNT_GUARDED_BY(mutex) = nullptr;
};

[[clang::no_destroy]] constinit AllLists all_lists;  // threads may end after every static object

constexpr std::chrono::seconds kForAnEnd{1};  // which takes microseconds

void forgetLists(ThreadLists& lists) {
  MutexLock lock(all_lists.mutex);
  ThreadLists** link = &all_lists.first;
  while (*link != &lists) link = &(*link)->next;
  *link = lists.next;
}

/// E2 to E3: a thread's lists, as a value of a key whose destructor has to be called twice, since the allocator's may
/// be called after it in the first round.
void atRound(void* p);

pthread_key_t endingKey() {
  static const pthread_key_t key = [] {
    pthread_key_t k;
    pthread_key_create(&k, &atRound);
    return k;
  }();
  return key;
}

void atRound(void* p) {
  auto* lists = static_cast<ThreadLists*>(p);
  if (!std::exchange(lists->seen_in_round, true) && pthread_setspecific(endingKey(), lists) == 0) return;
  lists->ending.store(false, std::memory_order_release);
  forgetLists(*lists);
  delete lists;
}

void beforeFork() SHUNT_TSA(no_thread_safety_analysis) {
  ThreadLists& mine = lists();
  const void* const my_end = pthread_getspecific(endingKey());
  all_lists.mutex.lock();
  forking.store(&mine, std::memory_order_seq_cst);
  const auto latest = std::chrono::steady_clock::now() + kForAnEnd;
  for (ThreadLists* l = all_lists.first; l != nullptr; l = l->next) {
    while (l != &mine && l->in_system.load(std::memory_order_seq_cst)) sched_yield();
    while (l != my_end && l->ending.load(std::memory_order_seq_cst) && std::chrono::steady_clock::now() < latest)
      sched_yield();
    if (l != my_end) l->ending.store(false, std::memory_order_relaxed);
  }
}

void afterFork() SHUNT_TSA(no_thread_safety_analysis) {
  forking.store(nullptr, std::memory_order_release);
  forking.notify_all();
  all_lists.mutex.unlock();
}

void afterForkInChild() SHUNT_TSA(no_thread_safety_analysis) {
  // A thread between T1 and T2 is not inside, but says so; here it is no more, and a fork of this process would wait
  // for it.
  for (ThreadLists* l = all_lists.first; l != nullptr; l = l->next) {
    l->in_system.store(false, std::memory_order_relaxed);
    l->ending.store(false, std::memory_order_relaxed);
  }
  afterFork();
}

[[maybe_unused]] const bool at_load = (holdAcrossFork(4, &beforeFork, &afterFork, &afterForkInChild), true);

/// T1 and T2, with one of the flags of the calling thread's lists.
void enter(const ThreadLists& mine, std::atomic<bool>& flag) {
  while (true) {
    flag.store(true, std::memory_order_seq_cst);
    ThreadLists* other = forking.load(std::memory_order_seq_cst);
    if (other == nullptr || other == &mine) [[likely]]
      return;
    flag.store(false, std::memory_order_release);
    forking.wait(other, std::memory_order_acquire);
  }
}

class InSystem {
 public:
  explicit InSystem(ThreadLists& mine) : mine_(mine) { enter(mine, mine.in_system); }
  ~InSystem() { mine_.in_system.store(false, std::memory_order_release); }
  InSystem(const InSystem&) = delete;
  InSystem& operator=(const InSystem&) = delete;

 private:
  ThreadLists& mine_;
};

}  // namespace

void* allocateFromSystem(ThreadLists& mine, size_t nbytes) {
  if (kUseMalloc) return std::aligned_alloc(kBlockAlignment, nbytes);
  InSystem in(mine);
  return scalable_aligned_malloc(nbytes, systemAlignment(nbytes));
}

void freeToSystem(ThreadLists& mine, void* block) noexcept {
  if (kUseMalloc) return std::free(block);
  InSystem in(mine);
  scalable_aligned_free(block);
}

void rememberLists(ThreadLists& lists) {
  MutexLock lock(all_lists.mutex);
  lists.next = all_lists.first;
  all_lists.first = &lists;
}

void endWith(ThreadLists& lists) {
  // Once for each thread: lists that other keys' destructors made come too late for two more rounds, maybe.
  static constinit thread_local bool ended SHUNT_TLS_MODEL = false;
  if (std::exchange(ended, true)) {
    forgetLists(lists);
    delete &lists;
    return;
  }
  enter(lists, lists.ending);
  if (pthread_setspecific(endingKey(), &lists) != 0) atRound(&lists);
}

}  // namespace shunt::detail
