#include <shunt/core/error.h>
#include <shunt/core/fork.h>
#include <shunt/tensor/generator.h>

#include "src/tensor/active_trace.h"
#include "src/tensor/generators_aside.h"

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

void GeneratorImpl::set_seed(uint64_t seed) { set_position({seed, 0}); }

std::pair<uint64_t, uint64_t> GeneratorImpl::position() const {
  if (const GeneratorImpl* aside = detail::GeneratorsAside::insteadOf(*this)) [[unlikely]]
    return aside->position();
  const std::lock_guard lock(mutex_);
  return {seed_, next_block_};
}

void GeneratorImpl::set_position(std::pair<uint64_t, uint64_t> position) {
  tellTrace();
  detail::GeneratorsWatched::noteSet(*this, position);
  const std::lock_guard lock(mutex_);
  std::tie(seed_, next_block_) = position;
}

std::pair<uint64_t, uint64_t> GeneratorImpl::reserve(uint64_t count) {
  if (GeneratorImpl* aside = detail::GeneratorsAside::insteadOf(*this)) [[unlikely]]
    return aside->reserve(count);
  std::pair<uint64_t, uint64_t> drawn;
  {
    const std::lock_guard lock(mutex_);
    drawn = {seed_, next_block_};
    next_block_ += count;
  }
  detail::GeneratorsWatched::noteDrawn(*this, drawn, count);
  return drawn;
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
