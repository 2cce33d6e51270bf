#include <shunt/core/error.h>
#include <shunt/core/fork.h>

#include <pthread.h>

#include <array>
#include <mutex>

namespace shunt::detail {
namespace {

struct Held {
  int level;
  void (*lock)();
  void (*unlock)();
  void (*in_child)();
};

struct Table {
  std::mutex mutex;
  std::array<Held, 32> held{};  // by level; of one level, in the order in which they were named
  size_t count = 0;
};

constinit Table table;

void beforeFork() {
  table.mutex.lock();
  for (size_t i = 0; i < table.count; ++i) table.held[i].lock();
}

void afterFork() {
  for (size_t i = table.count; i-- > 0;) table.held[i].unlock();
  table.mutex.unlock();
}

void afterForkInChild() {
  for (size_t i = table.count; i-- > 0;) table.held[i].in_child();
  table.mutex.unlock();
}

}  // namespace

void holdAcrossFork(int level, void (*lock)(), void (*unlock)(), void (*in_child)()) {
  std::lock_guard guard(table.mutex);
  SHUNT_CHECK(table.count < table.held.size(), "holdAcrossFork: too many locks; please report this as a bug");
  if (table.count == 0) pthread_atfork(&beforeFork, &afterFork, &afterForkInChild);
  size_t place = table.count++;
  for (; place > 0 && table.held[place - 1].level > level; --place) table.held[place] = table.held[place - 1];
  table.held[place] = {level, lock, unlock, in_child != nullptr ? in_child : unlock};
}

}  // namespace shunt::detail
