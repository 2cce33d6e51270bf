#include "src/compile/variants.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

constexpr size_t kMostRetired = 64, kMostTimesRetired = 4;  // of most_in_use_

}  // namespace

Variants::~Variants() {
  for (const Variant* v : all_) delete v;
}

const Variant* Variants::add(std::unique_ptr<Variant> variant) {
  List& list = listFor(variant->hash_of_sizes);
  variant->next = list.load(std::memory_order_relaxed);
  all_.push_back(variant.get());
  const Variant* const made = variant.release();
  const auto isRetired = [](const Variant* v) { return v->retired.load(std::memory_order_relaxed); };
  const auto retired = static_cast<size_t>(std::ranges::count_if(all_, isRetired));
  most_in_use_ = std::max(most_in_use_, all_.size() - retired);
  list.store(made, std::memory_order_release);
  last_.store(made, std::memory_order_release);
  return made;
}

bool Variants::areTooMany() const { return all_.size() >= kMostRetired + kMostTimesRetired * most_in_use_; }

}  // namespace shunt::compiled
