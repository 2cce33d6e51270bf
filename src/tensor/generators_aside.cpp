#include "src/tensor/generators_aside.h"

namespace shunt::detail {

constinit thread_local GeneratorsAside* GeneratorsAside::innermost SHUNT_TLS_MODEL = nullptr;
constinit thread_local GeneratorsWatched* GeneratorsWatched::innermost SHUNT_TLS_MODEL = nullptr;

GeneratorsAside::GeneratorsAside(std::span<const Generator> generators)
    : outer_(innermost), generators_(generators.begin(), generators.end()) {
  for (const Generator& g : generators_) {
    begun_.push_back(g->position());
    copies_.emplace_back(make_intrusive<GeneratorImpl>(g.device(), begun_.back().first));
    copies_.back()->set_position(begun_.back());
  }
  innermost = this;
}

GeneratorsAside::~GeneratorsAside() { innermost = outer_; }

GeneratorImpl* GeneratorsAside::find(const GeneratorImpl& generator) const {
  for (size_t i = 0; i < generators_.size(); ++i)
    if (generators_[i].impl().get() == &generator) return copies_[i].impl().get();
  return outer_ != nullptr ? outer_->find(generator) : nullptr;
}

std::vector<GeneratorPosition> GeneratorsAside::positions() const {
  std::vector<GeneratorPosition> out;
  for (const Generator& g : copies_) out.push_back(g->position());
  return out;
}

GeneratorsWatched::GeneratorsWatched(std::span<const Generator> generators, std::vector<GeneratorPosition> positions)
    : outer_(innermost), generators_(generators.begin(), generators.end()), positions_(std::move(positions)) {
  innermost = this;
}

GeneratorsWatched::~GeneratorsWatched() { innermost = outer_; }

void GeneratorsWatched::note(const GeneratorImpl& generator, GeneratorPosition drawn, uint64_t count) {
  for (size_t i = 0; i < generators_.size(); ++i) {
    if (generators_[i].impl().get() != &generator) continue;
    met_others_ |= positions_[i] != drawn;
    positions_[i] = {drawn.first, drawn.second + count};
  }
}

void GeneratorsWatched::move(const GeneratorImpl& generator, GeneratorPosition position) {
  for (size_t i = 0; i < generators_.size(); ++i)
    if (generators_[i].impl().get() == &generator) positions_[i] = position;
}

}  // namespace shunt::detail
