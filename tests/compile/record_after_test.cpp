// CompileOptions::record_after: when a function is recorded, and which calls run its graph then.
#include "src/compile/calls_seen.h"
#include "src/compile/worth/graph_trial.h"

#include <shunt/jit/budget.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

using compiled::CallsSeen;
using compiled::GraphTrial;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Mode = GraphTrial::Mode;

constexpr int64_t kMicrosecond = 1000;  // ns

CompileOptions whenItPays() { return {.check = CompileCheck::kNever, .record_after = CompileOptions::kWhenItPays}; }

void waitFor(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Runs the trial to its end, where calls take so long; how many turns that took.
int tryOut(GraphTrial& trial, int64_t graph, int64_t function, uint64_t run) {
  EXPECT_TRUE(trial.claim());
  EXPECT_FALSE(trial.claim()) << "one thread at a time";
  trial.open();
  int turns = 0;
  while (trial.mode() == Mode::kOpen && turns < 1000) {
    const bool is_disturbed = turns < 2 || turns % 5 == 4;
    ++turns;
    trial.took((trial.isGraphsTurn() ? graph : function) + (is_disturbed ? 50 * kMicrosecond : 0), run);
  }
  trial.release();
  return turns;
}

uint64_t nextRun(const GraphTrial& trial, uint64_t after) {
  uint64_t run = after;
  while (!trial.isDue(run) && run < after + 10'000'000) ++run;
  return run;
}

TEST(CompileGraphTrial, WhatIsFasterIsUsed) {
  struct Case {
    int64_t graph, function;
    Mode mode;
  };
  for (const Case& c : {Case{100, 40, Mode::kFunction}, Case{40, 100, Mode::kGraph},
                        Case{45, 40, Mode::kGraph},  // no more than the clock's noise
                        Case{10'300, 10'000, Mode::kFunction}, Case{10'050, 10'000, Mode::kGraph}}) {
    GraphTrial trial;
    trial.begin(false);
    EXPECT_LT(tryOut(trial, c.graph, c.function, 8), 50);
    EXPECT_EQ(trial.mode(), c.mode) << c.graph << " and " << c.function;
    EXPECT_EQ(trial.describe().empty(), c.mode == Mode::kGraph);
  }
}

TEST(CompileGraphTrial, WithoutBeginThereIsNone) {
  const GraphTrial trial;
  EXPECT_FALSE(trial.isDue(1'000'000'000));
  EXPECT_EQ(trial.mode(), Mode::kGraph);
}

TEST(CompileGraphTrial, LongCallsTakeFewTurns) {
  GraphTrial trial;
  trial.begin(false);
  EXPECT_EQ(tryOut(trial, 2500 * kMicrosecond, 3000 * kMicrosecond, 8), 10);
  EXPECT_EQ(trial.mode(), Mode::kGraph);
  EXPECT_EQ(tryOut(trial, 2000 * kMicrosecond, 3000 * kMicrosecond, 40), 6) << "without a doubt";
  EXPECT_EQ(trial.mode(), Mode::kGraph);
  EXPECT_EQ(tryOut(trial, 3000 * kMicrosecond, 2000 * kMicrosecond, 400), 6);
  EXPECT_EQ(trial.mode(), Mode::kFunction);
}

TEST(CompileGraphTrial, OneDisturbedCallDecidesNothing) {
  constexpr int64_t kGraph = 2000 * kMicrosecond, kFunction = 3000 * kMicrosecond;
  for (int disturbed = 0; disturbed < 10; ++disturbed) {
    GraphTrial trial;
    trial.begin(false);
    ASSERT_TRUE(trial.claim());
    trial.open();
    for (int turn = 0; trial.mode() == Mode::kOpen; ++turn)
      trial.took((trial.isGraphsTurn() ? kGraph : kFunction) * (turn == disturbed ? 10 : 1), 8);
    EXPECT_EQ(trial.mode(), Mode::kGraph) << disturbed;
  }
}

TEST(CompileGraphTrial, ThereIsAlwaysAnotherOneLaterEachTime) {
  GraphTrial trial;
  trial.begin(false);
  uint64_t run = nextRun(trial, 0), distance = 0;
  EXPECT_LT(run, 20u);
  for (int i = 0; i < 6; ++i) {  // as fast as the function, then clearly faster
    tryOut(trial, i < 5 ? 1000 : 100, 1000, run);
    const uint64_t next = nextRun(trial, run);
    const uint64_t farthest = i < 5 ? 4096 : 40960;  // so that the slower one's turns cost little
    EXPECT_EQ(next - run, distance == 0 ? 32 : std::min((i < 5 ? 4 : 32) * distance, farthest));
    distance = next - run;
    run = next;
  }
  for (uint64_t wanted : {32, 128, 512}) {
    tryOut(trial, 2000, 1000, run);
    ASSERT_EQ(trial.mode(), Mode::kFunction);
    uint64_t calls = 1;
    while (!trial.passed(1) && calls < 10'000) ++calls;
    EXPECT_EQ(calls, wanted) << "soon after the verdict has changed";
  }
  tryOut(trial, 500, 1000, run);
  EXPECT_EQ(trial.mode(), Mode::kGraph) << "it has become faster";
  EXPECT_EQ(nextRun(trial, run) - run, 32u);
}

TEST(CompileGraphTrial, CompiledBackwardPassesCount) {
  GraphTrial trial;
  trial.begin(true);
  tryOut(trial, 2000, 1000, 8);
  EXPECT_EQ(trial.mode(), Mode::kGraph) << "nothing is known of its backward pass";
  trial.tookBackward(1000, 5000);
  tryOut(trial, 2000, 1000, 40);
  EXPECT_EQ(trial.mode(), Mode::kGraph) << "3 us against 6";
  EXPECT_EQ(trial.functionNs(), 1000);
  GraphTrial slow;
  slow.begin(true);
  slow.tookBackward(3000, 3000);
  slow.tookBackward(4000, 9000);
  tryOut(slow, 2000, 1000, 8);
  EXPECT_EQ(slow.mode(), Mode::kFunction);
  EXPECT_THAT(slow.describe(), AllOf(HasSubstr("5 us with the graph and 4 us with"), HasSubstr("backward pass")));
}

TEST(CompileCallsSeen, TimeDecidesWhatIsDue) {
  constexpr int64_t kCost = 1'000'000;
  CallsSeen seen(8, 8, CompileOptions::kWhenItPays);
  const detail::CompileKind call{1, 1};
  seen.took(call, 10 * kCost);  // of a call that was never seen
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(seen.isDue(call, kCost)) << i;
    seen.took(call, kCost / 1000);
  }
  EXPECT_THAT(seen.explain(call, kCost),
              HasSubstr("have taken 0.1 ms; they run the function for 1.9 ms more, then one is recorded"));
  seen.took(call, 2 * kCost);
  EXPECT_TRUE(seen.isDue(call, kCost));
  seen.postpone(call);
  EXPECT_FALSE(seen.isDue(call, kCost));
  EXPECT_THAT(seen.explain(call, kCost), HasSubstr("waits for the budget"));
  seen.took(call, kCost / 2);
  EXPECT_TRUE(seen.isDue(call, kCost)) << "a part more";
  seen.took(call, 2 * kCost);
  EXPECT_FALSE(seen.isDue(call, kCost)) << "recording has failed: the next attempt wants more";
  EXPECT_EQ(seen.whyNotYet(call), compiled::Why::kFailedBefore);
  EXPECT_EQ(seen.explain(call, kCost),
            "recording failed for such arguments, and is retried after 27.4 ms more in calls of the function");
  seen.took(call, 40 * kCost);
  EXPECT_TRUE(seen.isDue(call, kCost));
  seen.took(call, 10'000 * kCost);
  EXPECT_TRUE(seen.isDue(call, kCost));
  seen.took(call, int64_t{1'000'000} * kCost);
  EXPECT_FALSE(seen.isDue(call, kCost)) << "after three attempts";
  EXPECT_EQ(seen.explain(call, kCost), "recording failed 3 times for such arguments, and is not retried");
}

TEST(CompileCallsSeen, OnceIsNeverEnough) {
  CallsSeen seen(8, 8, CompileOptions::kWhenItPays);
  EXPECT_FALSE(seen.isDue({1, 1}, 0));
  EXPECT_TRUE(seen.isDue({1, 1}, 0));
}

TEST(CompileRecordAfter, ANumberOfCalls) {
  for (const int calls : {1, 2, 7}) {
    auto fast = compile([](const Tensor& x) { return x + 1; }, {.record_after = calls});
    for (int i = 0; i < 20; ++i) {
      fast(ones({3}));
      EXPECT_EQ(fast.counts().recorded, i < calls ? 0u : 1u) << calls << ' ' << i;
    }
    EXPECT_EQ(fast.counts().eager, static_cast<uint64_t>(calls));
  }
}

TEST(CompileRecordAfter, OtherNumbersAreErrors) {
  const auto f = [](const Tensor& x) { return x + 1; };
  for (const int calls : {-1, -7}) {
    try {
      compile(f, {.record_after = calls});
      FAIL();
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr("record_after"), HasSubstr(std::to_string(calls)), HasSubstr("1 or more")));
    }
  }
}

TEST(CompileRecordAfter, WhatTakesLongIsRecordedSoon) {
  const auto slow = [](const Tensor& x) {
    waitFor(std::chrono::milliseconds(2));  // the graph does without
    return x * 2;
  };
  auto fast = compile(slow, whenItPays());
  for (int i = 0; i < 400 && fast.counts().recorded == 0; ++i) fast(ones({3}));
  EXPECT_EQ(fast.counts().recorded, 1u) << fast.explain();
  const auto before = fast.counts();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(fast(full({3}, 1.0 * i)).sum().item<float>(), static_cast<float>(6 * i));
  EXPECT_GT(fast.counts().hits - before.hits, 150u) << fast.explain();
  EXPECT_THAT(fast.explain(ones({3})), HasSubstr("runs the graph"));
}

TEST(CompileRecordAfter, AFewShortCallsAreNotRecorded) {
  const auto make = [] { return compile([](const Tensor& x) { return x + 1; }, whenItPays()); };
  auto fast = make();
  for (int attempt = 0; attempt < 20; ++attempt) {  // a busy machine may stop one for longer than a recording takes
    fast = make();
    for (int i = 0; i < 10; ++i) fast(ones({3}));
    EXPECT_EQ(fast.counts().eager + fast.counts().hits, 10u - fast.counts().recorded);
    if (fast.counts().recorded == 0) break;
  }
  EXPECT_EQ(fast.counts().recorded, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("no graph yet: calls with such arguments have taken"));
  EXPECT_THAT(fast.explain(ones({3})), AllOf(HasSubstr("runs the function"), HasSubstr("record_after")));
}

TEST(CompileRecordAfter, WithoutABudgetNothingIsRecorded) {
  const double before = jit::budget();
  jit::set_budget(0);
  auto fast = compile(
      [](const Tensor& x) {
        waitFor(std::chrono::milliseconds(1));
        return x + 1;
      },
      whenItPays());
  for (int i = 0; i < 50; ++i) fast(ones({3}));
  EXPECT_EQ(fast.counts().recorded, 0u);
  EXPECT_THAT(fast.explain(ones({3})), HasSubstr("SHUNT_JIT_BUDGET"));
  auto at_once = compile([](const Tensor& x) { return x + 1; }, {.record_after = 1});
  for (int i = 0; i < 3; ++i) at_once(ones({3}));
  EXPECT_EQ(at_once.counts().recorded, 1u) << "who names a number gets a graph";
  jit::set_budget(before);
  for (int i = 0; i < 2000 && fast.counts().recorded == 0; ++i) fast(ones({3}));
  EXPECT_EQ(fast.counts().recorded, 1u);
}

/// An operator that is slow, but where the function calls it: so its graph is slower.
thread_local bool is_called_by_function = false;

Tensor slowKernel(const Tensor& x) {
  if (!is_called_by_function) waitFor(std::chrono::microseconds(200));
  return x.clone();
}

Tensor callSlow(const Tensor& x) {
  static const auto op =
      Dispatcher::singleton().findSchemaOrThrow("record_after_test::slow", "").typed<Tensor(const Tensor&)>();
  is_called_by_function = true;
  const Tensor out = op.call(x);
  is_called_by_function = false;
  return out;
}

TEST(CompileRecordAfter, AGraphThatIsSlowerIsNotUsed) {
  Library library(Library::Kind::kDef, "record_after_test");
  library.def("slow(Tensor x) -> Tensor");
  library.impl("slow", DispatchKey::CPU, [](const Tensor& x) { return slowKernel(x); });
  library.impl("slow", DispatchKey::Meta, [](const Tensor& x) { return x.clone(); });
  const auto f = [](const Tensor& x) {
    waitFor(std::chrono::microseconds(30));
    return callSlow(x) + 1;
  };
  auto fast = compile(f, whenItPays());
  int calls = 0;
  for (; calls < 4000 && fast.counts().recorded == 0; ++calls) fast(ones({3}));
  ASSERT_EQ(fast.counts().recorded, 1u) << fast.explain();
  const auto isOff = [&] { return fast.explain(ones({3})).find("with the graph and") != std::string::npos; };
  for (int i = 0; i < 200 && !isOff(); ++i, ++calls) fast(ones({3}));
  EXPECT_TRUE(isOff()) << fast.explain();
  EXPECT_THAT(fast.explain(), HasSubstr("calls run the function: a call takes"));
  const auto before = fast.counts();
  for (int i = 0; i < 400; ++i, ++calls) fast(ones({3}));
  const auto after = fast.counts();
  EXPECT_LT(after.hits - before.hits, 100u) << "but in trials";
  EXPECT_EQ(after.hits + after.eager, static_cast<uint64_t>(calls));
  // Numbers that the caller has named are kept to: the graph is used.
  auto kept = compile(f, {.check = CompileCheck::kNever, .record_after = 1});
  for (int i = 0; i < 100; ++i) kept(ones({3}));
  EXPECT_EQ(kept.counts().hits, 99u);
}

TEST(CompileRecordAfter, EveryCallIsCountedOnce) {
  auto fast = compile([](const Tensor& x) { return x + 1; }, whenItPays());
  const Tensor x = ones({3});
  for (uint64_t i = 1; i <= 30'000; ++i) {
    EXPECT_EQ(fast(x).sizes()[0], 3);
    if (i % 1001 == 0) {
      const auto counts = fast.counts();
      ASSERT_EQ(counts.hits + counts.eager, i);
    }
  }
}

// Whichever way calls go, they do the same.
TEST(CompileRecordAfter, TheSameBitsAllTheWay) {
  const Tensor plain_sum = zeros({5}), sum = zeros({5});
  const auto step = [](const Tensor& into, const Tensor& x) {
    into.mul_(0.99).add_(x.sigmoid() * rand({5}));
    return into.sum();
  };
  auto fast = compile([&](const Tensor& x) { return step(sum, x); },
                      {.check = CompileCheck::kFirst, .record_after = CompileOptions::kWhenItPays});
  std::vector<Tensor> expected;
  manual_seed(3);
  for (int i = 0; i < 3000; ++i) expected.push_back(step(plain_sum, full({5}, 0.01 * i)));
  manual_seed(3);
  for (size_t i = 0; i < 3000; ++i)
    ASSERT_TRUE(equal(fast(full({5}, 0.01 * static_cast<double>(i))), expected[i])) << i << fast.explain();
  EXPECT_TRUE(equal(sum, plain_sum));
}

TEST(CompileRecordAfter, OtherArgumentsAreSeenWhileCallsPassBy) {
  auto fast = compile([](const Tensor& x) { return x + 1; }, whenItPays());
  const Tensor small = ones({3}), large = ones({1 << 16});
  for (int i = 0; i < 5000; ++i) fast(small);
  for (int i = 0; i < 2000; ++i) {  // in turns
    ASSERT_EQ(fast(large).numel(), 1 << 16);
    for (int k = 0; k < 63; ++k) fast(small);
  }
  EXPECT_THAT(fast.explain(large), Not(HasSubstr("have taken 0 ms"))) << "it was seen: " << fast.explain();
}

TEST(CompileRecordAfter, CallsThatThrowDecideNothing) {
  Library library(Library::Kind::kDef, "record_after_throws");
  library.def("if_odd(Tensor x) -> Tensor");
  int calls = 0;
  library.impl("if_odd", DispatchKey::CPU, [&](const Tensor& x) {
    if (++calls % 2 == 1) throw Error("odd");
    waitFor(std::chrono::microseconds(20));
    return x.clone();
  });
  library.impl("if_odd", DispatchKey::Meta, [](const Tensor& x) { return x.clone(); });
  const auto op =
      Dispatcher::singleton().findSchemaOrThrow("record_after_throws::if_odd", "").typed<Tensor(const Tensor&)>();
  auto fast = compile([&](const Tensor& x) { return op.call(x) + 1; }, whenItPays());
  int thrown = 0;
  for (int i = 0; i < 3000; ++i) {
    try {
      fast(ones({3}));
    } catch (const Error&) {
      ++thrown;
    }
  }
  EXPECT_GT(thrown, 10);
  EXPECT_GT(fast.counts().recorded, 0u) << fast.explain();
  const std::string text = fast.explain(), before = "with the graph and ";
  if (const size_t at = text.find(before); at != std::string::npos) {  // the graph throws, and then calls the function
    EXPECT_GE(std::stod(text.substr(at + before.size())), 20) << "as calls take that don't throw: " << text;
  }
}

TEST(CompileRecordAfter, ARegistrationWhileTheFunctionIsUsed) {
  Library library(Library::Kind::kDef, "record_after_again");
  library.def("slow(Tensor x) -> Tensor");
  library.impl("slow", DispatchKey::CPU, [](const Tensor& x) { return slowKernel(x); });
  library.impl("slow", DispatchKey::Meta, [](const Tensor& x) { return x.clone(); });
  const auto op =
      Dispatcher::singleton().findSchemaOrThrow("record_after_again::slow", "").typed<Tensor(const Tensor&)>();
  auto fast = compile(
      [&](const Tensor& x) {
        is_called_by_function = true;
        const Tensor out = op.call(x);
        is_called_by_function = false;
        return out + 1;
      },
      whenItPays());
  const auto isOff = [&] { return fast.explain(ones({3})).find("with the graph and") != std::string::npos; };
  for (int i = 0; i < 200'000 && !isOff(); ++i) fast(ones({3}));
  ASSERT_TRUE(isOff()) << fast.explain();
  Library other(Library::Kind::kImpl, "record_after_again", DispatchKey::CPU);
  other.impl("slow", [](const Tensor& x) { return x * 10; });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(fast(ones({3})).sum().item<float>(), 33.0f);
  EXPECT_EQ(fast.counts().invalidated, 1u) << fast.explain();
}

// Kinds of calls that get no graph, while others have some: their calls are all made and counted, and the others'
// graphs are still found.
TEST(CompileRecordAfter, CallsBeyondTheBoundsPassBy) {
  auto fast = compile(
      [](const Tensor& x, int64_t n) {
        waitFor(std::chrono::microseconds(20));  // the graphs do without
        return x + n;
      },
      {.max_variants = 2, .check = CompileCheck::kNever, .record_after = CompileOptions::kWhenItPays});
  const Tensor x = zeros({3});
  uint64_t calls = 0;
  const auto call = [&](int64_t n) {
    ++calls;
    ASSERT_EQ(fast(x, n)[0].item<float>(), static_cast<float>(n));
  };
  for (int i = 0; i < 20'000 && fast.counts().recorded < 2; ++i) call(i % 2);
  ASSERT_EQ(fast.counts().recorded, 2u) << fast.explain();
  for (int i = 0; i < 1000; ++i) call(2 + i % 3);
  EXPECT_EQ(fast.counts().hits + fast.counts().eager, calls);
  const auto before = fast.counts();
  for (int i = 0; i < 1000; ++i) call(i % 4);  // half of them with a graph
  EXPECT_GT(fast.counts().hits - before.hits, 300u) << fast.explain();
  EXPECT_THAT(fast.explain(x, 3), HasSubstr("max_variants"));
  EXPECT_THAT(fast.explain(), HasSubstr("0-dim tensor"));
}

TEST(CompileRecordAfter, ManyThreads) {
  auto fast = compile([](const Tensor& x) { return (x + 1).relu() * 2; },
                      {.check = CompileCheck::kFirst, .record_after = CompileOptions::kWhenItPays});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int n = 1; n <= 4; ++n)
    threads.emplace_back([&, n] {
      const Tensor x = full({n % 2 + 2}, n);
      for (int i = 0; i < 4000; ++i)
        if (fast(x)[0].item<float>() != static_cast<float>(2 * (n + 1))) ++wrong;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  const auto counts = fast.counts();
  EXPECT_NEAR(static_cast<double>(counts.hits + counts.eager), 16000, 4000) << "some are lost";
}

}  // namespace
}  // namespace shunt::test
