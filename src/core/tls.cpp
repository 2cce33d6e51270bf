// Thread records: how a thread gets its frames and gives them back.
//
// Records are never freed, so the reclaimer may read every one at any time. A record is attached to one thread or free;
// a pthread key's destructor frees it at thread exit (a call later in TLS teardown attaches again, and the key's
// destructor runs again). Lock: records_mutex, a leaf.
#include "src/core/thread_records.h"

#include <shunt/core/call_stack.h>
#include <shunt/core/fork.h>

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <mutex>

namespace shunt::detail {

constinit thread_local LocalState tls_state{};

namespace {

struct Record {
  Frames frames;
  bool attached = false;
};

struct Records {
  std::mutex mutex;
  std::deque<Record> all;
  pthread_key_t key;
  bool barrier_works = false;
};

void releaseRecord(void* p) {
  boxing::freeSpareStacks();
  tls_state.frames = nullptr;
  std::lock_guard lock(threadRecordsMutex());
  static_cast<Record*>(p)->attached = false;
}

Records& records() {
  // Leaked on purpose: threads may exit after static destruction.
  static Records* r = [] {
    auto* made = new Records;
    pthread_key_create(&made->key, &releaseRecord);
    made->barrier_works = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    holdAcrossFork(2, [] { threadRecordsMutex().lock(); }, [] { threadRecordsMutex().unlock(); });
    return made;
  }();
  return *r;
}

[[maybe_unused]] const Records& made_at_load = records();

}  // namespace

std::mutex& threadRecordsMutex() { return records().mutex; }

Frames* attachThread() {
  Records& r = records();
  Record* mine = nullptr;
  {
    std::lock_guard lock(r.mutex);
    for (Record& one : r.all)
      if (!one.attached) mine = &one;
    if (mine == nullptr) mine = &r.all.emplace_back();
    mine->attached = true;
  }
  pthread_setspecific(r.key, mine);
  tls_state.frames = &mine->frames;
  tls_state.observe_countdown = firstCountdown();
  tls_state.timing_countdown = tls_state.timing_distance = firstTimingDistance();
  return &mine->frames;
}

void forEachThreadFrames(const std::function<void(const Frames&)>& f) {
  Records& r = records();
  std::lock_guard lock(r.mutex);
  for (const Record& one : r.all) f(one.frames);
}

bool HardwarePlatform::barrierAll() {
  if (!records().barrier_works) return false;
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace shunt::detail
