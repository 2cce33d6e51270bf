// Budget: when the compiler may work, so that what it costs stays a small part of what the program costs.
//
// The rule: before a piece of work, what the compiler has used and what the piece is expected to take are together no
// more than `percent` of the CPU time that the process has used so far. What a piece really took is added afterwards,
// so one that took longer than expected is paid for by a longer wait. Times are nanoseconds of CPU time and arguments,
// so that tests need no clock. Not synchronised: its owner's lock guards it.
#pragma once

#include <array>
#include <cstdint>

namespace shunt::jit {

/// A piece of work, by what it costs.
enum class Step : uint8_t {
  kLook,      // in the disk cache, and linking what is there
  kQuick,     // a compile of the first tier
  kThorough,  // one of the second, or of a fused loop
};
inline constexpr size_t kSteps = 3;

class Budget {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  explicit Budget(double percent) : percent_(percent) {}

  double percent() const { return percent_; }
  void setPercent(double percent) { percent_ = percent; }
  bool isLifted() const { return percent_ >= 100; }

  /// What the process has to have used by the time when the step may begin; 0 where nothing has to be waited for.
  int64_t dueAt(Step step) const { return dueAt(expected(step)); }
  /// The same for work that is expected to take so long, and has nothing to do with LLVM.
  int64_t dueAt(int64_t cost) const;
  /// The compiler has taken so much for it.
  void spend(Step step, int64_t cost);
  void spend(int64_t cost) { spent_ += cost; }
  /// LLVM is there: the next step doesn't have to load it.
  void loaded() { is_loaded_ = true; }
  /// What makes further compiles cheaper was freed.
  void cooledDown() { is_warm_ = false; }

  int64_t spent() const { return spent_; }

 private:
  int64_t expected(Step step) const;

  double percent_;
  int64_t spent_ = 0;
  bool is_loaded_ = false;
  bool is_warm_ = false;                          // something was compiled: bitcode was read, LLVM's parts are there
  std::array<int64_t, kSteps> mean_ = {0, 0, 0};  // of the steps so far, later ones counting more; 0: none yet
};

}  // namespace shunt::jit
