// CallsSeen: what is known of the calls that found no variant, and so whether such a call is worth one.
//
// Note [Kinds and sizes]
// A call is told by two hashes (guards/call_kind.h): of its kind, which is all that a guard compares but sizes and
// strides, and of these. A graph is good for the sizes it was recorded with only: the function's own code may have
// asked for them. So each size is a variant of its kind, and there is a bound to the kinds and one to the sizes of
// each, so that a batch that varies takes no places from other kinds. The first sizes of a kind are recorded when such
// calls have come as often, or taken as long, as CompileOptions::record_after says. The more there are, the oftener
// must a further one come: the step doubles with each eight. So sizes that come now and then leave the places to those
// that come often, and recording, which takes as long as thousands of operators, is paid back. Captured tensors are no
// part of the hashes, since what a function captures is known once it is recorded. Variants that differ in these only
// (whether a weight has a grad) are bounded like kinds, in each size. Two calls of one hash would be counted as one,
// which does no harm: variants are told by their guards.
//
// Behind a mutex of its owner's.
#pragma once

#include "src/compile/guards/why.h"

#include <shunt/compile/compile.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace shunt::compiled {

class SHUNT_API CallsSeen {
 public:
  /// `record_after` as in CompileOptions.
  CallsSeen(int max_kinds, int max_sizes, int record_after)
      : max_kinds_(max_kinds), max_sizes_(max_sizes), record_after_(record_after) {}

  /// Counts a call that found no variant. True: it is worth recording, which is expected to take `cost` nanoseconds,
  /// and to be recorded now, unless postpone() follows.
  bool isDue(const detail::CompileKind& call, int64_t cost);
  /// Why such a call is never recorded as things are: there is no room, or it has failed too often. kNone: it may be.
  Why whyHopeless(const detail::CompileKind& call) const;
  /// Whether the last such call was the first one, as far as is remembered.
  bool isNew(const detail::CompileKind& call) const;
  bool isPostponed(const detail::CompileKind& call) const;
  /// Why such a call, which was not due, isn't recorded yet.
  Why whyNotYet(const detail::CompileKind& call) const;
  /// It could not be: such calls are not due before they have taken a part longer.
  void postpone(const detail::CompileKind& call);
  /// Such calls have run the function, and taken so many nanoseconds.
  void took(const detail::CompileKind& call, int64_t nanoseconds);
  /// There is one more variant for such calls, or one less.
  void made(const detail::CompileKind& call);
  void lost(const detail::CompileKind& call);
  /// Whether there was an attempt to record such a call before the last one.
  bool wasTriedBefore(const detail::CompileKind& call) const;
  /// Whether there was any.
  bool wasTried(const detail::CompileKind& call) const;
  /// For people: what is missing for such a call to be recorded.
  std::string explain(const detail::CompileKind& call, int64_t cost) const;
  bool hasAllKinds() const { return kinds_in_use_ >= max_kinds_; }
  bool hasAllSizesOfAKind() const;
  /// Calls that are remembered without a variant.
  size_t remembered() const { return remembered_; }

  static constexpr size_t kMostRemembered = 512;

 private:
  struct Sizes {
    int variants = 0;  // in use
    int calls = 0, attempts = 0;
    int64_t taken = 0;            // ns, by calls that ran the function
    int64_t postponed_until = 0;  // they have taken so long
    /// Whether the budget is in the way, and not a failed recording.
    bool isPostponed() const { return postponed_until > 0 && (attempts == 0 || postponed_until > taken); }
  };
  struct Kind {
    std::unordered_map<uint64_t, Sizes> sizes;
    int in_use = 0;  // sizes with a variant
  };
  /// Why there is no room for one more variant of them; kNone: there is.
  Why whyNoRoom(const Kind& kind, const Sizes& sizes) const;
  bool hasRoomFor(const Kind& kind, const Sizes& sizes) const { return whyNoRoom(kind, sizes) == Why::kNone; }
  bool isTriedTooOften(const Sizes& sizes) const;
  int callsBeforeRecording(const Kind& kind, const Sizes& sizes) const;
  int64_t timeBeforeRecording(const Kind& kind, const Sizes& sizes, int64_t cost) const;
  const Sizes* find(const detail::CompileKind& call) const;
  Sizes* find(const detail::CompileKind& call);
  void forgetTheRarest();

  const int max_kinds_, max_sizes_, record_after_;
  std::unordered_map<uint64_t, Kind> kinds_;
  int kinds_in_use_ = 0;
  size_t remembered_ = 0;
};

}  // namespace shunt::compiled
