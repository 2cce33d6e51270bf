// Draws programs: every step is tried on plain tensors before it is taken, so that most of them run.
#include "tests/parity/random.h"
#include "tests/programs/execution.h"

#include <algorithm>
#include <optional>

namespace programs {
namespace {

using parity::Rng;

bool broadcasts(shunt::IntArrayRef a, shunt::IntArrayRef b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

Input drawInput(Rng& rng) {
  static const std::vector<std::vector<int64_t>> kSizes = {
      {}, {3}, {4}, {2, 3}, {3, 2}, {3, 3}, {4, 4}, {1, 3}, {2, 1}, {2, 3, 4}, {2, 3, 3}, {0, 3}, {1, 2, 3}, {16}};
  static const std::vector<ScalarType> kDtypes = {shunt::kFloat,    shunt::kFloat, shunt::kFloat, shunt::kDouble,
                                                  shunt::kBFloat16, shunt::kLong,  shunt::kInt,   shunt::kBool};
  Input in{rng.pick(kSizes), rng.pick(kDtypes), false, rng.next() % 1000};
  in.requires_grad = isFloatingType(in.dtype) && rng.chance(0.5);
  return in;
}

int64_t firstOf(const Tensor& t) { return t.storage_offset() * t.itemsize(); }

int64_t lastOf(const Tensor& t) {
  int64_t out = t.storage_offset();
  for (int64_t d = 0; d < t.dim(); ++d) out += std::max<int64_t>(0, t.size(d) - 1) * t.stride(d);
  return out * t.itemsize();
}

std::vector<Input> drawInputs(Rng& rng) {
  std::vector<Input> inputs;
  for (int64_t n = rng.range(3, 5); n > 0; --n) inputs.push_back(drawInput(rng));
  return inputs;
}

class Drawing {
 public:
  explicit Drawing(uint64_t seed) : rng_(seed * 2 + 1), inputs_(drawInputs(rng_)), execution_(inputs_, world_) {}

  Program operator()(uint64_t seed) {
    Program program{seed, inputs_, {}, rng_.chance(0.2), -1};
    std::optional<shunt::AutocastGuard> autocast;
    if (program.autocast) autocast.emplace(shunt::kCPU);
    const auto steps = static_cast<size_t>(rng_.range(5, 30));
    while (program.steps.size() < steps)
      if (const Step step = drawStep(); take(step)) program.steps.push_back(step);
    const auto& slots = execution_.slots();
    for (int i = static_cast<int>(slots.size()) - 1; i >= 0 && program.root < 0; --i)
      if (const Tensor& t = slots[static_cast<size_t>(i)]; t.defined() && t.requires_grad()) program.root = i;
    return program;
  }

 private:
  const Tensor& at(int slot) const { return execution_.slots()[static_cast<size_t>(slot)]; }

  /// Late ones more often.
  int drawSlot() {
    const auto n = static_cast<int64_t>(execution_.slots().size());
    for (;;)
      if (const auto slot = static_cast<int>(rng_.range(rng_.chance(0.5) ? std::max<int64_t>(0, n - 4) : 0, n - 1));
          at(slot).defined())
        return slot;
  }

  int drawFitting(const Tensor& a) {
    for (int tries = 0; tries < 8; ++tries)
      if (const int slot = drawSlot(); broadcasts(a.sizes(), at(slot).sizes())) return slot;
    return drawSlot();
  }

  Step drawStep() {
    static const std::vector<double> kValues = {-2, -1, -0.5, 0, 0.25, 1, 1.5, 2, 3};
    Step step{&rng_.pick(rows()), {}, {}, rng_.pick(kValues), rng_.chance(0.1)};
    step.tensors[0] = drawSlot();
    const Tensor& a = at(step.tensors[0]);
    for (size_t i = 1; i < 3; ++i) step.tensors[i] = step.row->fits ? drawFitting(a) : drawSlot();
    const int64_t dims = std::max<int64_t>(1, a.dim());
    for (size_t i = 0; step.row->numbers[i] != 0; ++i) {
      const char kind = step.row->numbers[i];
      step.numbers[i] = kind == 'd' ? rng_.range(-dims, dims - 1) : kind == 'e' ? rng_.range(0, 1) : rng_.range(1, 3);
    }
    return step;
  }

  /// Whether it may read what it has written, so that what it gives is up to the order in which it goes: where dense
  /// tensors overlap it throws, but for others nobody looks.
  bool readsWhatItWrites(const Step& step) const {
    if (!step.row->in_place) return false;
    const Tensor& written = at(step.tensors[0]);
    const auto sharesSome = [&](int slot) {
      const Tensor& read = at(slot);
      const bool same = read.sizes() == written.sizes() && read.strides() == written.strides() &&
                        read.storage_offset() == written.storage_offset();
      return read.is_alias_of(written) && !same && firstOf(read) <= lastOf(written) && firstOf(written) <= lastOf(read);
    };
    return std::any_of(step.tensors.begin() + 1, step.tensors.begin() + step.row->tensors, sharesSome);
  }

  /// Few of those that throw stay, and no large results.
  bool take(const Step& step) {
    if (readsWhatItWrites(step)) return false;
    const bool threw = !execution_.take(step).empty();
    const Tensor& result = execution_.slots().back();
    if (threw ? rng_.chance(0.05) : step.row->in_place || (result.numel() <= 1024 && result.dim() <= 4)) return true;
    if (!step.row->in_place) execution_.dropLastSlot();
    return false;
  }

  Rng rng_;
  World world_;
  std::vector<Input> inputs_;
  Execution execution_;
};

}  // namespace

Program draw(uint64_t seed, Outcome* outcome) {
  Program program = Drawing(seed)(seed);
  *outcome = run(program, World());
  return program;
}

}  // namespace programs
