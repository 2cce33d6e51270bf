// Levels of vmap and grad: the calling thread's stack of them, and the wrapper tensors that belong to them.
//
// A Level belongs to the transform that entered it, and LevelFrame lives in that one's stack frame; wrappers, which may
// outlive both, know the level's number. The stack is thread-local; wrappers are as safe among threads as the tensors
// that they hold.
//
// Note [Levels]
// vmap and grad each enter a level. A tensor that a transform hands to its function is a wrapper that knows its level:
// a *batched* tensor shows one sample of a value with a batch dimension more, a *tracked* one looks like its value and
// has the graph of its grad level. An operator is handled by the innermost level only, and what that calls by the next
// one out, so the transforms nest in any order:
//   - The key Batched brings a call to the fallback in fallback.cpp. Without a wrapper of the innermost level among its
//     arguments the call moves one level out.
//   - In a vmap level the fallback unwraps, applies the operator's rule outside of the level, and wraps the results.
//   - In a grad level the call goes on below Batched: Autograd records on this level's wrappers, and Autocast casts
//     them. The key TransformBack, which only tracked tensors have, stands below both; it unwraps, calls the operator
//     outside of the level and wraps the results. While its gradients are computed and nothing
//     is recorded, calls are made outside at once.
//   - Composites run inside the level, so that their parts come here one by one.
//   - What a factory makes inside of a grad level is a tensor of the level, so that it may be written with others of
//   it.
//     Results of tensors from outside are as these, constants that the level doesn't know. So is, once the level has
//     ended, what it hasn't recorded.
//   - Many operators have kernels of their own for both keys, which do the same for the usual calls, and need no Stack:
//     in_grad.h, of_samples.h, pointwise_kernels.cpp.
// A grad level keeps the thread's settings of the moment it was entered: keys that guards exclude, grad mode.
// What runs outside of it runs with those, so that a NoGradGuard inside of a grad's function, and the guards of its
// Autograd kernels, act in that level alone. A vmap level has no graph, so such guards pass through it. Autocast passes
// through both as it is for each operator: switched off in a function, it is off for what that computes, in whatever
// level. An operator's own Autocast kernel has done its work by then, and is off further out. So do all guards that
// switch off what acts on values. Dispatch modes pass through both: a mode sees each call once, as the function made
// it. Functionalization is of the level in which it was entered: off in levels inside of that, and on again for what
// runs outside of them, so that it writes to nothing that the levels' own operators and formulas would write to.
// Functional tensors and those of a TensorSubclass know the level that they were made in; calls with those of levels
// further out are passed on to the levels, for which they are tensors from outside. Tracing and fake mode act on
// values: they are off inside a grad level, and on again for what runs outside of it. A level includes the key Batched
// for all calls on its thread: calls without a wrapper belong outside of a grad level, where other settings may hold,
// and random operators without a batched tensor ask a vmap level what to draw.
//
// Note [Wrappers without class]
// A wrapper is a plain TensorImpl with the key Batched and without a functionality that holds data. Its storage is a
// WrapperStorage, which has no bytes and holds the value. So whatever makes an alias of a tensor (saved variables,
// detach) makes another handle of the same wrapper. Version counters are the wrappers' own, in their storages, and
// views count where the viewed wrapper does: an operator in place on a tracked tensor counts in its level and in the
// levels below, once in each. A constant of a grad level counts with the tensor from outside that it stands for. What
// changes outside after a vjp's function has returned is counted in the level, too, before gradients are computed
// (changes_outside.h).
#pragma once

#include <shunt/core/tls.h>
#include <shunt/tensor/tensor.h>
#include <shunt/transforms/vmap.h>

#include <array>

namespace shunt::levels {

enum class Kind : uint8_t { kVmap, kGrad };
class ChangesOutside;

/// Names a level, of all that the process ever enters. Not by address, which another level could have later; nor by a
/// counted reference, since every wrapper would count one up and down.
struct LevelId {
  uint64_t number;
  bool operator==(const LevelId&) const = default;
  Kind kind() const { return (number & 1) != 0 ? Kind::kGrad : Kind::kVmap; }
  static LevelId make(Kind kind);
};

/// Where a function runs.
struct Level {
  explicit Level(Kind kind) : id(LevelId::make(kind)), kind(kind) {}
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  const LevelId id;
  const Kind kind;
  int64_t size = 0;                            // of a vmap's batch: of the part that runs
  int64_t whole_size = 0;                      // of all parts together
  Randomness randomness = Randomness::kError;  // of a vmap
  bool in_backward = false;                    // of a grad: its gradients are being computed
  ChangesOutside* changes = nullptr;           // of a grad: told of every tensor that is made
  /// Of a vmap: whether there are other parts.
  bool isChunk() const { return size != whole_size; }
};

/// The thread's settings that a level keeps.
struct Settings {
  uint64_t included, user_excluded, mode;
  int32_t autocast_nesting;
  std::array<ScalarType, kNumDeviceTypes> autocast_dtype;
  static Settings now();
  void restore() const;
};

/// Enters a level for a scope.
class LevelFrame {
 public:
  explicit LevelFrame(Level& level);
  ~LevelFrame();
  LevelFrame(const LevelFrame&) = delete;
  LevelFrame& operator=(const LevelFrame&) = delete;
  Level& level() const { return level_; }
  const LevelFrame* outer() const { return outer_; }
  const Settings& saved() const { return saved_; }

 private:
  Level& level_;
  const LevelFrame* outer_;
  Settings saved_;
};

/// Tells a recording of the calls that a program's own kernels for the key Batched take, and which it doesn't see.
void relyOnBatchingRules();

/// The calling thread's innermost level; null outside of all.
const LevelFrame* innermost();
/// Its number, which what is made there may keep; 0 outside of all.
uint64_t innermostNumber();
/// Whether `number` (0: outside of all) is that of a level in which the innermost one runs.
bool isFurtherOut(uint64_t number);
/// Whether functionalization is on outside of the innermost level, at any depth.
bool isFunctionalizedFurtherOut();

/// While it lives, gradients of a level are computed.
class InBackward {
 public:
  explicit InBackward(Level& level);
  ~InBackward();
  InBackward(const InBackward&) = delete;
  InBackward& operator=(const InBackward&) = delete;

 private:
  Level& level_;
  const bool before_;
  const uint64_t outer_;
};
/// Whether the gradients that this thread computes are of a level from which this call has come out.
bool isBackwardFurtherIn();

/// For a scope: outside of the innermost level, in the next one out.
class Outside {
 public:
  Outside();
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  void passOn() const;
  const LevelFrame* left_;
  Settings inside_;  // of a vmap level only `included`
};

/// The storage of a wrapper: Note [Wrappers without class].
struct WrapperStorage final : StorageImpl {
  // Every result in a level has one, so it comes from where tensors come from.
  static void* operator new(size_t nbytes) { return detail::allocateBlock(nbytes); }
  static void operator delete(void* p, size_t nbytes) noexcept { detail::freeBlock(p, nbytes); }

  WrapperStorage(LevelId level, Tensor value, int64_t batch_dim)
      : StorageImpl(DataPtr{}, 0, value.device(), nullptr, false),
        level(level),
        value(std::move(value)),
        batch_dim(batch_dim) {}
  LevelId level;
  Tensor value;
  int64_t batch_dim;     // -1 in a grad level
  bool is_pick = false;  // a copy where a program expects a view (detail::markPicked), so that nobody may write to it

 protected:
  void release_resources() override;
};

inline bool isWrapper(const Tensor& t) { return t.defined() && t.key_set().has(Functionality::Batched); }
inline WrapperStorage& storageOf(const Tensor& wrapper) {
  return static_cast<WrapperStorage&>(*wrapper.unsafeGetTensorImpl()->storage());
}
/// Whether `t` is a wrapper of this level.
inline bool belongsTo(const Tensor& t, const Level& level) { return isWrapper(t) && storageOf(t).level == level.id; }

/// Whether autocast is on for any device, so that operators which a rule calls could be cast.
inline bool autocastIsOn() {
  return (detail::tls_state.user_excluded & detail::kDefaultExcluded) != detail::kDefaultExcluded;
}

/// What lies in memory behind `t`: behind wrappers of all classes, and behind those of levels, each of which has a
/// storage of its own.
const Tensor& inMemory(const Tensor& t);

/// Whether `t` is a functional tensor, or one of a TensorSubclass, around a wrapper of this level.
bool isAround(const Tensor& t, const Level& level);

/// A wrapper that shows the samples of `value`, along its dimension `batch_dim`.
Tensor makeBatched(const Level& level, Tensor value, int64_t batch_dim);
/// A wrapper that looks like `value` and has no graph yet.
Tensor makeTracked(const Level& level, Tensor value);
/// Both count the same changes from here on: `view` shows what `base` does, or a part of it.
void shareVersion(const Tensor& base, const Tensor& view);
/// After the value changed in place, or was replaced: sizes and strides of the wrapper follow.
void followValue(const Tensor& wrapper);

}  // namespace shunt::levels
