// What users of oneDNN share: its engine, its number of threads, kernels kept by shape.
//
// Making a kernel costs far more than running a small one, so kMaxKernels of each kind are kept, in a table that all
// threads share under a mutex. An execution is a kernel with what a run of it needs beside (descriptions of memory,
// scratch memory); it belongs to one thread, which keeps those of the shapes that it used last.
#pragma once

#include <shunt/core/fork.h>

#include <array>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <unordered_map>

// oneDNN runs its loops by OpenMP and has no setting of its own for their number of threads.
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_num_threads(int);

namespace shunt::onednn {

inline constexpr size_t kMaxKernels = 512;

/// One OpenMP thread for the calling thread's regions while it lives; the setting is per calling thread.
class OneOmpThread {
 public:
  OneOmpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOmpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOmpThread(const OneOmpThread&) = delete;
  OneOmpThread& operator=(const OneOmpThread&) = delete;

 private:
  int before_;
};

/// Never destroyed: kernels may run while the process exits.
inline dnnl::engine& engine() {
  static dnnl::engine& cpu = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// Of a tuple of numbers.
template <class Key>
struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t h = 0;
    const auto mix = [&h](auto... v) {
      ((h = (h ^ std::hash<decltype(v)>()(v)) * 0x9e3779b97f4a7c15u, h ^= h >> 29), ...);
    };
    std::apply(mix, key);
    return h;
  }
};

/// Never destroyed, as above. `make` gives null where oneDNN has no kernel that is worth it.
template <class Key, class Kernel, std::shared_ptr<const Kernel> (*make)(const Key&)>
class KernelTable {
 public:
  static KernelTable& get() {
    static KernelTable& table = *new KernelTable;
    return table;
  }
  KernelTable() {
    detail::holdAcrossFork(3, [] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); });
  }

  std::shared_ptr<const Kernel> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    if (const auto it = kernels_.find(key); it != kernels_.end()) return it->second;
    // A program with ever new shapes starts over; one with few never gets here.
    if (kernels_.size() >= kMaxKernels) kernels_.clear();
    return kernels_.emplace(key, make(key)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Kernel>, KeyHash<Key>> kernels_;  // guarded by mutex_
};

/// The shapes that a thread used last, by hash.
template <class Key, class Execution>
class ThreadExecutions {
 public:
  static ThreadExecutions& get() {
    static thread_local std::unique_ptr<ThreadExecutions> mine;
    if (mine == nullptr) mine = std::make_unique<ThreadExecutions>();
    return *mine;
  }

  Execution& find(const Key& key) {
    std::unique_ptr<Execution>& slot = slots_[KeyHash<Key>()(key) % slots_.size()];
    if (slot == nullptr || slot->key() != key) {
      slot.reset();
      slot = std::make_unique<Execution>(key);
    }
    return *slot;
  }
  dnnl::stream& stream() { return stream_; }

 private:
  std::array<std::unique_ptr<Execution>, 64> slots_;
  dnnl::stream stream_{engine()};
};

}  // namespace shunt::onednn
