// HostMemory: tensors over the memory that a run of a host plan is given: of its inputs, and of outputs that lie in the
// host's memory. One belongs to one running call at a time, and is used again by later ones; HostMemoryPool keeps them.
//
// A call whose addresses are an earlier one's finds its tensors as they are. For others, and only then, what the
// addresses have to be is compared, and tensors are made.
#pragma once

#include <shunt/compile/host_plan.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace shunt::compiled {

/// What is known before the addresses. Constant.
struct HostLayout {
  struct Place {
    HostSpec spec;
    size_t storage;
    bool is_output = false;
    size_t position = 0;  // among the inputs, or among the outputs that the host has memory for
  };
  struct Storage {
    size_t bytes = 0;         // until behind the last element
    size_t begin = 0;         // of the first one
    bool is_written = false;  // by the plan
    size_t tensors = 0;
  };
  std::vector<Place> places;  // inputs, then outputs
  std::vector<Storage> storages;
  size_t inputs = 0;
  std::string name;  // for messages
  bool checks_memory = true;

  void add(const HostSpec& spec, size_t storage, bool is_output, size_t position);
  std::string nameOf(const Place& place) const;
};

class HostMemory {
 public:
  explicit HostMemory(const HostLayout& layout);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Throws Error, naming input or output, where addresses aren't as HostPlan::run says.
  void bind(std::span<void* const> inputs, std::span<void* const> outputs);
  /// By place.
  std::span<const Tensor* const> given() const { return given_; }
  const Tensor& output(size_t position) const { return tensors_[layout_.inputs + position]; }
  /// The first place whose tensor or memory somebody else has, too; null: there is none.
  const HostLayout::Place* kept() const;

 private:
  void* addressOf(size_t place, std::span<void* const> inputs, std::span<void* const> outputs) const {
    return place < layout_.inputs ? inputs[place] : outputs[place - layout_.inputs];
  }
  void checkCounts(size_t inputs, size_t outputs) const;
  void checkAddress(const HostLayout::Place& place, const void* address) const;
  std::vector<std::byte*> storagesAt(std::span<void* const> inputs, std::span<void* const> outputs) const;
  void checkApart(const std::vector<std::byte*>& storages) const;

  const HostLayout& layout_;
  bool is_bound_ = false;
  std::vector<void*> addresses_;    // by place, those that it is bound to
  std::vector<std::byte*> begins_;  // by storage, the same
  std::vector<Tensor> tensors_;     // by place
  std::vector<const Tensor*> given_;
};

/// Any thread.
class HostMemoryPool {
 public:
  explicit HostMemoryPool(const HostLayout& layout) : layout_(layout) {}
  ~HostMemoryPool() { delete first_.load(std::memory_order_acquire); }
  HostMemoryPool(const HostMemoryPool&) = delete;
  HostMemoryPool& operator=(const HostMemoryPool&) = delete;

  std::unique_ptr<HostMemory> take();
  void give(std::unique_ptr<HostMemory> memory) noexcept;

 private:
  const HostLayout& layout_;
  std::atomic<HostMemory*> first_{nullptr};  // of one thread, that is all there are; acquire, release
  std::mutex mutex_;
  std::vector<std::unique_ptr<HostMemory>> others_;  // guarded by mutex_
};

}  // namespace shunt::compiled
