// Who draws random numbers on a thread: GeneratorsAside lets it draw from copies of generators, GeneratorsWatched finds
// out whether other threads have drawn from them meanwhile. Local values, for the thread that made them; they nest.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/tensor/generator.h>

#include <span>
#include <utility>
#include <vector>

namespace shunt::detail {

/// The seed, and the block that comes next.
using GeneratorPosition = std::pair<uint64_t, uint64_t>;

/// While it lives, what this thread draws from these generators comes from copies, which begin where those are now.
class GeneratorsAside {
 public:
  explicit GeneratorsAside(std::span<const Generator> generators);
  ~GeneratorsAside();
  GeneratorsAside(const GeneratorsAside&) = delete;
  GeneratorsAside& operator=(const GeneratorsAside&) = delete;

  /// Where the copies began, and where they are, in the generators' order.
  const std::vector<GeneratorPosition>& begun() const { return begun_; }
  std::vector<GeneratorPosition> positions() const;
  /// The copy of this one; null: there is none.
  static GeneratorImpl* insteadOf(const GeneratorImpl& generator) {
    return innermost == nullptr ? nullptr : innermost->find(generator);
  }

 private:
  GeneratorImpl* find(const GeneratorImpl& generator) const;
  static constinit thread_local GeneratorsAside* innermost SHUNT_TLS_MODEL;

  GeneratorsAside* const outer_;
  std::vector<Generator> generators_, copies_;
  std::vector<GeneratorPosition> begun_;
};

/// While it lives, notes what this thread draws from these generators.
class GeneratorsWatched {
 public:
  /// `positions`: where they are taken to be.
  GeneratorsWatched(std::span<const Generator> generators, std::vector<GeneratorPosition> positions);
  ~GeneratorsWatched();
  GeneratorsWatched(const GeneratorsWatched&) = delete;
  GeneratorsWatched& operator=(const GeneratorsWatched&) = delete;

  /// Where this thread has left them.
  const std::vector<GeneratorPosition>& positions() const { return positions_; }
  /// Whether it found one elsewhere than where it had left it.
  bool metOthers() const { return met_others_; }

  static void noteDrawn(const GeneratorImpl& generator, GeneratorPosition drawn, uint64_t count) {
    for (GeneratorsWatched* w = innermost; w != nullptr; w = w->outer_) w->note(generator, drawn, count);
  }
  static void noteSet(const GeneratorImpl& generator, GeneratorPosition position) {
    for (GeneratorsWatched* w = innermost; w != nullptr; w = w->outer_) w->move(generator, position);
  }

 private:
  void note(const GeneratorImpl& generator, GeneratorPosition drawn, uint64_t count);
  void move(const GeneratorImpl& generator, GeneratorPosition position);
  static constinit thread_local GeneratorsWatched* innermost SHUNT_TLS_MODEL;

  GeneratorsWatched* const outer_;
  std::vector<Generator> generators_;
  std::vector<GeneratorPosition> positions_;
  bool met_others_ = false;
};

}  // namespace shunt::detail
