#include <shunt/core/error.h>
#include <shunt/core/fork.h>
#include <shunt/tensor/generator.h>

#include "src/tensor/active_trace.h"

namespace shunt {
namespace {

void tellTrace() {
  if (ActiveTrace* trace = activeTrace()) [[unlikely]]
    trace->seeded();
}

}  // namespace

uint64_t GeneratorImpl::seed() const {
  const std::lock_guard lock(mutex_);
  return seed_;
}

void GeneratorImpl::set_seed(uint64_t seed) {
  tellTrace();
  const std::lock_guard lock(mutex_);
  seed_ = seed;
  next_block_ = 0;
}

std::pair<uint64_t, uint64_t> GeneratorImpl::position() const {
  const std::lock_guard lock(mutex_);
  return {seed_, next_block_};
}

void GeneratorImpl::set_position(std::pair<uint64_t, uint64_t> position) {
  tellTrace();
  const std::lock_guard lock(mutex_);
  std::tie(seed_, next_block_) = position;
}

std::pair<uint64_t, uint64_t> GeneratorImpl::reserve(uint64_t count) {
  const std::lock_guard lock(mutex_);
  const uint64_t first = next_block_;
  next_block_ += count;
  return {seed_, first};
}

Generator make_generator(uint64_t seed) {
  tellTrace();
  return Generator(make_intrusive<GeneratorImpl>(Device(kCPU), seed));
}

const Generator& default_generator() {
  static const Generator generator = [] {
    detail::holdAcrossFork(3, [] { default_generator()->mutex_.lock(); }, [] { default_generator()->mutex_.unlock(); });
    return make_generator();
  }();
  return generator;
}

[[maybe_unused]] static const Generator& made_at_load = default_generator();

void manual_seed(uint64_t seed) { default_generator()->set_seed(seed); }

}  // namespace shunt
