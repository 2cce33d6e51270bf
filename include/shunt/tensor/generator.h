// Generator: a seedable source of random bits (Philox 4x32, counter-based), shared by reference.
//
// Any thread may use a generator. A draw takes its lock once per operator, not per element.
#pragma once

#include <shunt/core/intrusive_ptr.h>
#include <shunt/tensor/device.h>

#include <array>
#include <cstdint>
#include <mutex>

namespace shunt {

/// The state of a device's random numbers.
class SHUNT_API GeneratorImpl : public intrusive_ptr_target {
 public:
  explicit GeneratorImpl(Device device, uint64_t seed) : device_(device), seed_(seed) {}
  /// The device, and the seed. set_seed restarts the stream at block 0.
  Device device() const { return device_; }
  uint64_t seed() const;
  void set_seed(uint64_t seed);
  /// Reserves `count` Philox blocks (128 bits each). Returns the seed and the number of the first block.
  std::pair<uint64_t, uint64_t> reserve(uint64_t count);
  /// The seed, and the number of the next block.
  std::pair<uint64_t, uint64_t> position() const;
  /// Continues from a position that position() returned.
  void set_position(std::pair<uint64_t, uint64_t> position);

 private:
  friend const class Generator& default_generator();
  mutable std::mutex mutex_;
  Device device_;
  uint64_t seed_;
  uint64_t next_block_ = 0;
};

class SHUNT_API Generator {
 public:
  Generator() = default;
  explicit Generator(intrusive_ptr<GeneratorImpl> impl) : impl_(std::move(impl)) {}
  /// Whether the handle refers to a state. The other methods require one.
  bool defined() const { return impl_.defined(); }
  GeneratorImpl* operator->() const { return impl_.get(); }
  /// Device and seed of the state.
  Device device() const { return impl_->device(); }
  void set_current_seed(uint64_t seed) { impl_->set_seed(seed); }
  uint64_t current_seed() const { return impl_->seed(); }
  const intrusive_ptr<GeneratorImpl>& impl() const { return impl_; }

 private:
  intrusive_ptr<GeneratorImpl> impl_;
};

/// A new CPU generator with PyTorch's default seed.
SHUNT_API Generator make_generator(uint64_t seed = 67280421310721u);
/// The CPU's default generator. Operators use it when the call names none.
SHUNT_API const Generator& default_generator();
/// Seeds the default generator. The CPU's is the only one.
SHUNT_API void manual_seed(uint64_t seed);

}  // namespace shunt
