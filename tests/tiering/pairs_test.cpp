// When a pair's second tier is asked for, also after its compile was lost in one way or another.
#include "src/tiering/pairs.h"

#include "src/dispatch/timing.h"
#include "tests/dispatch/util.h"

#include <shunt/jit/kernel_library.h>

#include <optional>
#include <thread>

namespace shunt::jit {
namespace {

CompileResult resultOf(Verdict verdict, Tier tier = Tier::kSecond, bool worth_again = false) {
  CompileResult result;
  result.verdict = verdict;
  result.tier = tier;
  result.worth_again = worth_again;
  return result;
}

/// A pair with a thunk of the first tier.
struct SecondTier : testing::Test {
  SecondTier() {
    static uint64_t signatures = 0;
    key.signature = ++signatures;
    request.op = key.op;
    request.keys = key.keys;
    request.signature = key.signature;
    request.library_generation = libraryGeneration();
    pairs.finished(request, nullptr, resultOf(Verdict::kCompiled, Tier::kFirst, true));
  }
  bool wanted() {
    bool busy = false;
    const auto again = pairs.requestAgain(key, busy);
    EXPECT_FALSE(busy);
    EXPECT_TRUE(!again || again->tier == Tier::kSecond);
    return again.has_value();
  }
  bool finish(Verdict verdict) { return pairs.finished(request, nullptr, resultOf(verdict)); }
  PairStats row() { return pairs.find(key, 512)->row; }

  Library def = defined();
  Pairs& pairs = Pairs::instance();
  PairKey key{&test::findOp("tiers::op").op(), 1, 0};
  CompileRequest request;

  static Library defined() {
    Library block = test::fragment("tiers");
    block.def("op(Tensor x) -> Tensor");
    return block;
  }
};

/// A pair without a thunk, in its operator's current state.
struct Refused : SecondTier {
  Refused() { pairs.reset(); }
  void refuse() { pairs.finished(request, state, resultOf(Verdict::kRefused)); }
  Pairs::Answer observe() { return pairs.observe(key, state, 1, 100); }

  const OpState* state = key.op->state().load();
};

TEST_F(Refused, IsForgottenByItsThreadsWhenItIsAskedForAnew) {
  EXPECT_EQ(observe(), Pairs::Answer::kWatch);
  refuse();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(observe(), Pairs::Answer::kSettled);
  EXPECT_EQ(row().interpreted, 4u) << "what a thread remembers is counted too";
  pairs.reset();
  EXPECT_EQ(observe(), Pairs::Answer::kWatch);
  refuse();
  EXPECT_EQ(observe(), Pairs::Answer::kSettled);
}

// A state's memory serves again: the one in which the pair was refused may be back, with other kernels.
TEST_F(Refused, IsForgottenByItsThreadsWhenItIsRefusedInAnotherState) {
  refuse();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(observe(), Pairs::Answer::kSettled);
  Library kernel(Library::Kind::kImpl, "tiers", DispatchKey::CPU);
  kernel.impl("op", [](const Tensor& x) { return x; });
  const OpState* now = key.op->state().load();
  ASSERT_NE(now, state);
  EXPECT_EQ(pairs.observe(key, now, 1, 100), Pairs::Answer::kWatch);
  EXPECT_EQ(observe(), Pairs::Answer::kWatch) << "another state than the operator's";
  pairs.finished(request, now, resultOf(Verdict::kRefused));
  EXPECT_EQ(pairs.observe(key, now, 1, 100), Pairs::Answer::kSettled);
}

TEST_F(Refused, MayBeObservedAtItsThreadsEnd) {
  refuse();
  std::thread([&] {
    struct AtEnd {
      Refused* test;
      ~AtEnd() { EXPECT_EQ(test->observe(), Pairs::Answer::kSettled); }
    };
    static thread_local AtEnd at_end{this};  // made first, so that what the thread remembers is gone by then
    EXPECT_EQ(at_end.test->observe(), Pairs::Answer::kSettled);
    EXPECT_EQ(observe(), Pairs::Answer::kSettled);
  }).join();
}

TEST_F(SecondTier, IsAskedForOnceAtATime) {
  EXPECT_TRUE(wanted());
  EXPECT_FALSE(wanted()) << "it is in the queue";
  pairs.notAskedAgain(key);
  EXPECT_TRUE(wanted()) << "it was not queued after all";
  EXPECT_FALSE(finish(Verdict::kCompiled));
  EXPECT_EQ(row().tier, 2);
  EXPECT_FALSE(wanted()) << "there is no third";
}

TEST_F(SecondTier, IsAskedForAgainWhereARegistrationCameBetween) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(wanted()) << i;
    EXPECT_FALSE(finish(Verdict::kOutdated));
    EXPECT_EQ(row().state, PairState::kCompiled) << "by the first tier";
  }
}

TEST_F(SecondTier, IsGivenUpAfterFourFailures) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(wanted()) << i;
    EXPECT_FALSE(finish(Verdict::kFailed));
  }
  EXPECT_FALSE(wanted());
  EXPECT_EQ(row().state, PairState::kCompiled);
  EXPECT_EQ(row().tier, 1);
}

TEST_F(SecondTier, ThatIsRefusedIsNotAskedForAgain) {
  ASSERT_TRUE(wanted());
  EXPECT_FALSE(finish(Verdict::kRefused));
  EXPECT_FALSE(wanted());
  EXPECT_EQ(row().state, PairState::kCompiled);
}

TEST_F(SecondTier, IsAskedForAgainByAChildOfFork) {
  ASSERT_TRUE(wanted());
  pairs.forgetQueue();  // what the child does first
  EXPECT_TRUE(wanted());
}

// What was recorded holds addresses, which may be another library's.
TEST_F(SecondTier, IsRecordedAnewWhereALibraryCameBetween) {
  static const char no_bitcode = 0;
  {
    const KernelLibrary came_and_went(&no_bitcode, &no_bitcode + 1);
  }
  ASSERT_NE(libraryGeneration(), request.library_generation);
  ASSERT_TRUE(wanted());
  EXPECT_TRUE(finish(Verdict::kOutdated)) << "the first thunk has to leave";
  EXPECT_EQ(pairs.tierFor(key), Tier::kSecond) << "and needs no first tier again";
}

TEST_F(SecondTier, IsNotForThunksThatItWouldMakeTheSame) {
  pairs.finished(request, nullptr, resultOf(Verdict::kCompiled, Tier::kFirst, false));
  EXPECT_FALSE(wanted());
}

/// A pair whose thunk, of the second tier, expects one kind of operands.
struct MoreKinds : SecondTier {
  MoreKinds() { compile(request, Tier::kSecond); }
  void compile(const CompileRequest& of, Tier tier) {
    request = of;
    request.tier = tier;
    request.kinds[0] = kind(0);
    pairs.finished(request, nullptr, resultOf(Verdict::kCompiled, tier, tier == Tier::kFirst));
  }
  /// Of loops that can be called and specialised, every third one can only be called.
  static LoopRecord kind(uint64_t functor, bool called_loop_takes_it = true) {
    static const char loop = 0;
    LoopRecord record;
    record.form = LoopRecord::kFunctional;
    record.functor = functor;
    if (called_loop_takes_it) record.places.ready = &loop;
    if (!called_loop_takes_it || functor % 3 != 0) record.places.loop = &loop;
    return record;
  }
  static LoopRecord withoutLoop(uint64_t functor) {
    LoopRecord record = kind(functor);
    record.places.loop = record.places.ready = nullptr;
    return record;
  }
  Pairs::Miss miss(const LoopRecord& record) {
    asked.reset();
    return pairs.missed(key, record, {}, asked);
  }

  std::optional<CompileRequest> asked;
};

TEST_F(MoreKinds, AreAskedForUntilThereAreFour) {
  for (uint64_t functor = 1; functor < kMaxOperandKinds; ++functor) {
    ASSERT_EQ(miss(kind(functor)), Pairs::Miss::kAsk);
    EXPECT_EQ(countOf(asked->kinds), static_cast<int>(functor) + 1);
    EXPECT_EQ(asked->kinds[functor].functor, functor);
    EXPECT_EQ(miss(kind(9)), Pairs::Miss::kWait) << "one at a time";
    EXPECT_FALSE(pairs.finished(*asked, nullptr, resultOf(Verdict::kCompiled)));
    EXPECT_EQ(row().kinds, static_cast<int>(functor) + 1);
    EXPECT_EQ(miss(kind(functor)), Pairs::Miss::kHelpless) << "it is there";
  }
  EXPECT_EQ(miss(kind(9)), Pairs::Miss::kHelpless) << "there is no place for it";
}

TEST_F(MoreKinds, AreNotAskedForWhereNoGuardWouldLetThemPass) {
  EXPECT_EQ(miss(withoutLoop(1)), Pairs::Miss::kHelpless);
}

TEST_F(MoreKinds, TakeThePlaceOfOperandsThatNoGuardExpects) {
  request.kinds[0] = withoutLoop(0);
  pairs.finished(request, nullptr, resultOf(Verdict::kCompiled));
  EXPECT_EQ(row().kinds, 0);
  EXPECT_EQ(miss(request.kinds[0]), Pairs::Miss::kWait) << "the thunk has no guard to lose";
  ASSERT_EQ(miss(kind(1)), Pairs::Miss::kAsk);
  EXPECT_EQ(countOf(asked->kinds), 1);
  EXPECT_EQ(asked->kinds[0].functor, 1u);
}

TEST_F(MoreKinds, AreAskedForAgainWhereTheirCompileWasLost) {
  ASSERT_EQ(miss(kind(1)), Pairs::Miss::kAsk);
  EXPECT_FALSE(pairs.finished(*asked, nullptr, resultOf(Verdict::kOutdated)));
  EXPECT_EQ(row().kinds, 1) << "the thunk in force";
  ASSERT_EQ(miss(kind(1)), Pairs::Miss::kAsk);
  pairs.notAskedAgain(key);
  ASSERT_EQ(miss(kind(1)), Pairs::Miss::kAsk);
  pairs.forgetQueue();
  ASSERT_EQ(miss(kind(1)), Pairs::Miss::kAsk);
  EXPECT_FALSE(pairs.finished(*asked, nullptr, resultOf(Verdict::kRefused)));
  EXPECT_EQ(miss(kind(1)), Pairs::Miss::kHelpless);
  EXPECT_EQ(row().state, PairState::kCompiled);
}

TEST_F(MoreKinds, AndTheSecondTierAreNotAskedForAtOnce) {
  compile(request, Tier::kFirst);
  ASSERT_TRUE(wanted());
  EXPECT_EQ(miss(kind(1)), Pairs::Miss::kWait);
  pairs.notAskedAgain(key);
  ASSERT_EQ(miss(kind(1)), Pairs::Miss::kAsk);
  EXPECT_EQ(asked->tier, Tier::kFirst) << "that of the thunk in force";
  EXPECT_FALSE(wanted());
  CompileResult made = resultOf(Verdict::kCompiled, Tier::kFirst, true);
  EXPECT_FALSE(pairs.finished(*asked, nullptr, made));
  bool busy = false;
  const auto again = pairs.requestAgain(key, busy);
  ASSERT_TRUE(again);
  EXPECT_EQ(countOf(again->kinds), 2) << "the second tier has them all";
}

// The first tier calls the ahead-of-time loop, which takes some operands only.
TEST_F(MoreKinds, WaitForTheSecondTierWhereTheFirstHasNoLoopForThem) {
  compile(request, Tier::kFirst);
  EXPECT_EQ(miss(kind(1, false)), Pairs::Miss::kWait);
  bool busy = false;
  const auto again = pairs.requestAgain(key, busy);
  ASSERT_TRUE(again);
  EXPECT_EQ(countOf(again->kinds), 2);
}

TEST_F(MoreKinds, RelyOnTheSettingsOfEachRecord) {
  request.settings[0] = {3, 10};
  compile(request, Tier::kSecond);
  SettingsRead read;
  read[0] = {3, 12};
  read[1] = {5, 7};
  ASSERT_EQ(pairs.missed(key, kind(1), read, asked), Pairs::Miss::kAsk);
  EXPECT_EQ(asked->settings[0].version, 10u) << "the older one";
  EXPECT_EQ(asked->settings[1].setting, 5);
  EXPECT_EQ(asked->settings[1].version, 7u);
  EXPECT_EQ(asked->settings[2].setting, -1);
}

// Without SHUNT_STATS the calls are known from samples: misses are compared with them once there are enough.
TEST_F(MoreKinds, ThatNeverHitEndTheThunk) {
  EXPECT_FALSE(pairs.missesMostly(key, 100, 5000)) << "from here on it counts";
  EXPECT_FALSE(pairs.missesMostly(key, 1100, 6000)) << "too few";
  EXPECT_FALSE(pairs.missesMostly(key, 1'000'100, 1'000'000)) << "too few samples";
  EXPECT_FALSE(pairs.missesMostly(key, 100'000'100, 205'000'000)) << "half of them hit";
  EXPECT_TRUE(pairs.missesMostly(key, 1'000'000'100, 1'000'000'000));
  pairs.missedMostly(key, "never hits");
  EXPECT_EQ(row().state, PairState::kCounting);
  EXPECT_EQ(row().reason, "never hits");
  EXPECT_EQ(pairs.find(key, 512)->threshold, 16 * 512) << "and is not asked for at once";
  EXPECT_EQ(miss(kind(1)), Pairs::Miss::kWait);
}

TEST(Timing, AsksEachTimeThatTheUsesHaveDoubled) {
  Timing t;
  const auto asked = [&](int64_t uses) {
    t.addUses(uses - t.uses());
    return t.asksAgain(1000);
  };
  EXPECT_FALSE(asked(999));
  EXPECT_TRUE(asked(1000));
  EXPECT_FALSE(t.asksAgain(1000));
  EXPECT_FALSE(asked(1999));
  EXPECT_TRUE(asked(2500));
  EXPECT_FALSE(asked(4999));
  EXPECT_TRUE(asked(5000));
}

}  // namespace
}  // namespace shunt::jit
