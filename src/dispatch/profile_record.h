// What a profile knows of a thread, and what is made of all threads' records. Private to profile.cpp and its report.
#pragma once

#include <shunt/core/op_state.h>

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace shunt::profile {

inline int64_t nanosecondsNow() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
static_assert(std::is_same_v<std::chrono::steady_clock::period, std::nano>);

/// An operator's calls. Times in nanoseconds.
struct Sum {
  int64_t calls = 0;
  int64_t total = 0;  // the operators that it calls included; of calls inside a call of the same operator, that one's
  int64_t self = 0;
};

/// A call that ended.
struct Event {
  const Operator* op;
  uint64_t keys;
  int64_t start, duration;
};

/// How many more calls of the process are kept one by one; those after them count in the sums only.
std::atomic<int64_t>& eventsLeft();

class ThreadRecord {
 public:
  /// `events_left` null: calls aren't kept one by one. Made by its thread.
  explicit ThreadRecord(std::atomic<int64_t>* events_left);
  void begin(const Operator& op, DispatchKeySet keys);
  void end() noexcept;

  const pid_t tid;
  ThreadRecord* next = nullptr;  // constant once the record is in the list

  // Under the lock; written by the thread alone.
  mutable std::mutex mutex;
  std::unordered_map<const Operator*, Sum> sums;
  std::vector<Event> events;

 private:
  struct OpenCall {
    const Operator* op;
    uint64_t keys;
    int64_t start;
    int64_t inside;  // in calls that this one made
  };
  std::vector<OpenCall> open_;  // the thread's alone
  std::atomic<int64_t>* const events_left_;
};

/// The table, the operator with the largest self time first. `all`: the list of records.
std::string tableOf(const ThreadRecord* all);
/// Writes the events as Chrome trace JSON, times from `began`. Whether that went well.
bool writeTrace(const std::string& file, const ThreadRecord* all, int64_t began);

}  // namespace shunt::profile
