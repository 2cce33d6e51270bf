#include "src/compile/loops/native_loop.h"

#include "src/tiering/switches.h"

#include <shunt/core/parallel.h>
#include <shunt/jit/kernel_library.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace shunt::compiled {
namespace {

constinit thread_local uint64_t native_runs SHUNT_TLS_MODEL = 0;

// A compile takes some 5 ms. So many elements count as a run of their own: a region of a few million elements takes as
// long in a run or two.
constexpr int64_t kElementsOfARun = 4096;
constexpr int64_t kShortRow = 64;

// Numbers that are often there, as one for add()'s alpha, are constants of the code, which needs no multiplication
// then; others are given at run time, so that equal loops share their code whatever their numbers are.
template <class T>
bool isAmong(uint64_t bits) {
  static_assert(std::endian::native == std::endian::little);
  for (const T n : {T(0), T(1), T(-1), T(2), T(4), T(8)}) {
    uint64_t its = 0;
    std::memcpy(&its, &n, sizeof(T));
    if (its == bits) return true;
  }
  return false;
}
bool isUsual(uint64_t bits) { return isAmong<float>(bits) || isAmong<double>(bits) || isAmong<int64_t>(bits); }

uint64_t bitsOf(const elementwise::ScalarSlot& slot) { return std::bit_cast<uint64_t>(slot); }

jit::FusedStride strideOf(const BlockLoop::Place& place) {
  return place.inner != 0 ? jit::FusedStride::kUnit : jit::FusedStride::kZero;
}

}  // namespace

uint64_t nativeRuns() { return native_runs; }

void NativeLoop::Operands::add(uint16_t place, const BlockLoop::Place& like) {
  places.push_back(place);
  inner.push_back(like.inner);
  outer.push_back(like.outer);
}

bool NativeLoop::Operands::areNeighbours() const {
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != places[0] + i) return false;
  return !places.empty();
}

bool NativeLoop::Operands::areJoined(int64_t columns) const {
  for (size_t i = 0; i < places.size(); ++i)
    if (outer[i] != inner[i] * columns) return false;
  return true;
}

NativeLoop::NativeLoop(const BlockLoop& loop, int64_t after)
    : scalars_(loop.scalars),
      numbers_(loop.numbers),
      given_(loop.operands.size()),
      rows_(loop.rows),
      columns_(loop.columns),
      after_(after > 0 ? after : jit::switches().threshold),
      due_(1) {
  std::vector<int> step_of(loop.places(), -1);   // by place: the step whose result is there now
  std::vector<int> input_of(loop.places(), -1);  // by place
  for (const BlockLoop::Instruction& i : loop.instructions) addStep(loop, i, step_of, input_of);
  addOutputs(loop, step_of);
  in_order_ =
      inputs_.areNeighbours() && inputs_.places[0] == 0 && inputs_.places.back() < given_ && outputs_.areNeighbours();
  if (in_order_) first_output_ = outputs_.places[0];
  small_ = rows_ * columns_ <= kDefaultGrain;
  rows_join_ = inputs_.areJoined(columns_) && outputs_.areJoined(columns_);
  spec_.short_rows = columns_ < kShortRow;
}

jit::FusedOperand NativeLoop::inputAt(const BlockLoop& loop, uint16_t place, std::vector<int>& input_of) {
  if (input_of[place] < 0) {
    input_of[place] = static_cast<int>(inputs_.size());
    BlockLoop::Place lies;
    std::optional<uint64_t> constant;
    if (place < given_) {
      lies = loop.operands[place];
    } else {
      lies.dtype = numbers_[place - given_].dtype;
      const uint64_t bits = bitsOf(numbers_[place - given_].slot);
      if (isUsual(bits)) constant = bits;
    }
    spec_.inputs.push_back({lies.dtype, strideOf(lies), constant});
    inputs_.add(place, lies);
  }
  return {jit::FusedOperand::kInput, static_cast<uint16_t>(input_of[place])};
}

void NativeLoop::addStep(const BlockLoop& loop, const BlockLoop::Instruction& i, std::vector<int>& step_of,
                         std::vector<int>& input_of) {
  jit::FusedStep step;
  step.body = i.generic;
  step.library = jit::libraryNumberOf(reinterpret_cast<const void*>(i.generic));
  step.common = i.common;
  step.result = i.result;
  step.first_scalar = static_cast<uint16_t>(i.scalars);
  const std::span scalars(loop.scalars.data() + i.scalars, elementwise::kMaxScalars);
  if (std::ranges::all_of(scalars, isUsual, bitsOf))
    for (const elementwise::ScalarSlot& slot : scalars) step.constants.push_back(bitsOf(slot));
  for (int k = 0; k < i.num_inputs; ++k) {
    const uint16_t place = i.in[k];
    step.operands.push_back(step_of[place] < 0
                                ? inputAt(loop, place, input_of)
                                : jit::FusedOperand{jit::FusedOperand::kStep, static_cast<uint16_t>(step_of[place])});
  }
  step_of[i.out] = static_cast<int>(spec_.steps.size());
  spec_.steps.push_back(std::move(step));
}

/// What is in an operand's place at the end.
void NativeLoop::addOutputs(const BlockLoop& loop, const std::vector<int>& step_of) {
  for (uint16_t place = 0; place < given_; ++place) {
    if (step_of[place] < 0) continue;
    spec_.outputs.push_back({static_cast<uint16_t>(step_of[place]), jit::FusedStride::kUnit});
    outputs_.add(place, loop.operands[place]);
  }
}

template <class Native, class Blocks>
void NativeLoop::tryBoth(jit::FusedLoopFn function, int64_t rows, const Native& native, const Blocks& blocks) const {
  if (function == nullptr) function = count(rows);
  if (function == nullptr || trial_.verdict() == Trial::Verdict::kBlocks) return blocks();
  if (trial_.verdict() == Trial::Verdict::kNative) return native(function);
  trial_.run([&] { native(function); }, blocks);
}

void NativeLoop::runElse(jit::FusedLoopFn function, std::byte* const* operands, const BlockLoop& blocks) const {
  tryBoth(function, rows_, [&](jit::FusedLoopFn f) { runWith(f, operands); }, [&] { blocks.run(operands); });
}

void NativeLoop::runRows(std::byte* const* operands, const BlockLoop& blocks, int64_t count, bool comparable) const {
  const jit::FusedLoop* loop = loop_.load(std::memory_order_acquire);
  const jit::FusedLoopFn function = loop != nullptr ? loop->function() : nullptr;
  if (function != nullptr && trial_.verdict() == Trial::Verdict::kNative) [[likely]]
    return callOn(function, operands, count);
  if (function != nullptr && !comparable) return blocks.runSome(operands, count);
  tryBoth(
      function, count, [&](jit::FusedLoopFn f) { callOn(f, operands, count); },
      [&] { blocks.runSome(operands, count); });
}

/// The loop's code, if that is there now.
jit::FusedLoopFn NativeLoop::count(int64_t rows) const {
  const int64_t runs = runs_.load(std::memory_order_relaxed) + 1 + rows * columns_ / kElementsOfARun;
  runs_.store(runs, std::memory_order_relaxed);
  if (runs < due_.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  const std::unique_lock lock(asking_, std::try_to_lock);
  if (!lock.owns_lock() || runs < due_.load(std::memory_order_relaxed)) return nullptr;
  const jit::Wanted wanted = runs < after_ ? jit::Wanted::kStored : jit::Wanted::kCode;
  due_.store(wanted == jit::Wanted::kStored ? after_ : 2 * runs, std::memory_order_relaxed);
  if (owner_ != nullptr) {
    jit::FusedLoops::instance().ask(*owner_, wanted, static_cast<uint64_t>(runs));
  } else {
    owner_ = jit::FusedLoops::instance().request(spec_, wanted, static_cast<uint64_t>(runs));
    loop_.store(owner_.get(), std::memory_order_release);
  }
  return owner_ != nullptr ? owner_->function() : nullptr;
}

void NativeLoop::place(std::byte* const* operands, Addresses& in, Addresses& out) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const uint16_t place = inputs_.places[i];
    in[i] = place < given_
                ? operands[place]
                : const_cast<std::byte*>(reinterpret_cast<const std::byte*>(numbers_[place - given_].slot.bytes));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) out[i] = operands[outputs_.places[i]];
}

// Apart, as the room for addresses would be made for calls that need none.
SHUNT_NOINLINE void NativeLoop::callOnPlaced(jit::FusedLoopFn function, std::byte* const* operands, int64_t columns,
                                             int64_t rows) const {
  Addresses in, out;
  place(operands, in, out);
  function({out, outputs_.inner.data(), outputs_.outer.data(), in, inputs_.inner.data(), inputs_.outer.data(), columns,
            rows, scalars_.data()});
}

void NativeLoop::callOn(jit::FusedLoopFn function, std::byte* const* operands, int64_t rows) const {
  ++native_runs;
  const int64_t columns = rows_join_ ? rows * columns_ : columns_;
  if (rows_join_) rows = 1;
  if (!in_order_) return callOnPlaced(function, operands, columns, rows);
  function({operands + first_output_, outputs_.inner.data(), outputs_.outer.data(), operands, inputs_.inner.data(),
            inputs_.outer.data(), columns, rows, scalars_.data()});
}

// Large ones on several threads.
SHUNT_NOINLINE void NativeLoop::runParts(jit::FusedLoopFn function, std::byte* const* operands) const {
  ++native_runs;
  Addresses in, out;
  place(operands, in, out);
  const auto call = [&](std::byte* const* outputs, std::byte* const* inputs, int64_t rows, int64_t columns) {
    function({outputs, outputs_.inner.data(), outputs_.outer.data(), inputs, inputs_.inner.data(), inputs_.outer.data(),
              columns, rows, scalars_.data()});
  };
  const bool by_rows = rows_ > 1;
  const auto part = [&](int64_t first, int64_t last) {
    Addresses part_in, part_out;
    for (size_t i = 0; i < inputs_.size(); ++i)
      part_in[i] = in[i] + first * (by_rows ? inputs_.outer[i] : inputs_.inner[i]);
    for (size_t i = 0; i < outputs_.size(); ++i)
      part_out[i] = out[i] + first * (by_rows ? outputs_.outer[i] : outputs_.inner[i]);
    call(part_out, part_in, by_rows ? last - first : 1, by_rows ? columns_ : last - first);
  };
  const int64_t grain = by_rows ? std::max<int64_t>(1, kDefaultGrain / columns_) : kDefaultGrain;
  parallelFor(0, by_rows ? rows_ : columns_, grain, part);
}

PlanCode NativeLoop::describe() const {
  using State = PlanCode::State;
  const jit::FusedLoop* loop = loop_.load(std::memory_order_acquire);
  if (loop == nullptr) return {};
  switch (loop->state()) {
    case jit::FusedLoop::State::kReady:
      if (trial_.verdict() == Trial::Verdict::kBlocks) return {State::kInterpreted, "native code is slower"};
      return {State::kNative, loop->name()};
    case jit::FusedLoop::State::kQueued:
      return {loop->isCodeWanted() ? State::kCompiling : State::kInterpreted, ""};
    case jit::FusedLoop::State::kRefused:
      return {State::kInterpreted, loop->reason()};
    case jit::FusedLoop::State::kIdle:
      break;
  }
  return {};
}

}  // namespace shunt::compiled
