// explain() has a reason for each call that ran the function: Note [Why a call runs the function]
// (src/compile/guards/why.h).
#include "tests/compile/same.h"
#include "tests/compile/warnings.h"

#include <shunt/autograd/custom_function.h>
#include <shunt/jit/budget.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <regex>
#include <thread>

namespace shunt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

/// By the number of calls, and without checks, whatever the environment says.
CompileOptions named(const char* name) { return {.check = CompileCheck::kNever, .record_after = 1, .name = name}; }

/// How many calls ran the function by the reasons that are listed.
uint64_t callsListed(const std::string& text) {
  static const std::regex kLine("  ([0-9]+) calls? ran the function: [^\n]+\n");
  uint64_t calls = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), kLine), end; at != end; ++at) calls += std::stoull((*at)[1]);
  return calls;
}

const auto plusOne = [](const Tensor& x) { return x + 1; };

TEST(CompileWhy, NotCalledYet) {
  EXPECT_EQ(compile(plusOne, named("f")).explain(), "f: 0 calls ran a graph, 0 the function\nnot called yet\n");
}

TEST(CompileWhy, OtherSizesInEachCall) {
  const auto fast = compile(plusOne, named("f"));
  for (int i = 1; i <= 5; ++i) fast(ones({i}));
  EXPECT_EQ(
      fast.explain(),
      "f: 0 calls ran a graph, 5 the function\n"
      "  5 calls ran the function: such arguments were seen for the first time\n"
      "no graph yet: 1 call with such arguments found no graph; the next one is recorded "
      "(CompileOptions::record_after)\n"
      "5 calls had arguments that no call before had, and sizes or strides of tensor 0 of the arguments changed 4 "
      "times: each size needs a graph, so use few sizes, for example by padding\n");
}

/// What a function whose argument, or what it reads, changes in each of four calls says of that.
std::string whatChanges(const std::string& text) {
  EXPECT_THAT(text, StartsWith("f: 0 calls ran a graph, 4 the function\n"
                               "  4 calls ran the function: such arguments were seen for the first time\n"
                               "no graph yet: 1 call with such arguments found no graph; the next one is recorded "
                               "(CompileOptions::record_after)\n"));
  const std::string begin = "4 calls had arguments that no call before had, and ";
  const size_t at = text.find(begin);
  return at == std::string::npos ? text : text.substr(at + begin.size());
}

TEST(CompileWhy, AnotherNumberInEachCall) {
  const Tensor x = ones({2});
  const auto by_double = compile([](const Tensor& t, double k) { return t * k; }, named("f"));
  const auto by_int = compile([](int d, const Tensor& t) { return t + d; }, named("f"));
  for (int i = 0; i < 4; ++i) by_double(x, 0.1 * i), by_int(i, x);
  EXPECT_EQ(whatChanges(by_double.explain()),
            "argument 1 (double) changed 3 times: each value needs a graph, so pass a number that takes many values as "
            "a 0-dim tensor\n");
  EXPECT_EQ(whatChanges(by_int.explain()),
            "argument 0 (int) changed 3 times: each value needs a graph, so pass a number that takes many values as a "
            "0-dim tensor\n");
  const auto by_vector = compile([](const std::vector<Tensor>& t, double k) { return t[0] * k; }, named("f"));
  for (int i = 0; i < 4; ++i) by_vector(std::vector<Tensor>{x}, 0.1 * i);
  EXPECT_THAT(whatChanges(by_vector.explain()),
              StartsWith("number 2 of the arguments (values, and lengths of containers) changed 3 times: each value"));
}

TEST(CompileWhy, NamedVariablesThatChange) {
  double rate = 0;
  Tensor w;
  const Tensor x = ones({2});
  const auto by_scalar = compile([&](const Tensor& t) { return t * rate; },
                                 {.scalars = {&rate}, .check = CompileCheck::kNever, .record_after = 1, .name = "f"});
  const auto by_capture = compile([&](const Tensor& t) { return t * w; },
                                  {.captures = {&w}, .check = CompileCheck::kNever, .record_after = 1, .name = "f"});
  std::vector<Tensor> held;
  for (int i = 0; i < 4; ++i) {
    rate = i;
    held.push_back(w = ones({2}));
    by_scalar(x), by_capture(x);
  }
  EXPECT_EQ(whatChanges(by_scalar.explain()),
            "the number in CompileOptions::scalars[0] changed 3 times: each value needs a graph, so keep a number that "
            "takes many values in a 0-dim tensor\n");
  EXPECT_EQ(whatChanges(by_capture.explain()),
            "the tensor in CompileOptions::captures[0] changed 3 times: each tensor needs a graph, so write into one "
            "tensor in place\n");
}

TEST(CompileWhy, AnotherDtypeInEachCall) {
  const auto fast = compile(plusOne, named("f"));
  for (const ScalarType dtype : {kFloat, kDouble, kLong, kInt}) fast(ones({2}, dtype));
  EXPECT_EQ(
      whatChanges(fast.explain()),
      "dtype, device, layout or gradient settings of tensor 0 of the arguments changed 3 times: each kind needs a "
      "graph\n");
}

TEST(CompileWhy, CalledTooSeldomYet) {
  const auto fast = compile(plusOne, {.check = CompileCheck::kNever, .record_after = 4, .name = "f"});
  for (int i = 0; i < 2; ++i) fast(ones({2}));
  EXPECT_EQ(fast.explain(),
            "f: 0 calls ran a graph, 2 the function\n"
            "  1 call ran the function: such arguments were seen for the first time\n"
            "  1 call ran the function: calls with such arguments were still too few, or took too little time in all, "
            "to be recorded\n"
            "no graph yet: 2 calls with such arguments found no graph; 2 more run the function, then one is recorded "
            "(CompileOptions::record_after)\n");
  for (int i = 0; i < 4; ++i) fast(ones({2}));
  EXPECT_EQ(fast.explain(),
            "f: 2 calls ran a graph, 4 the function\n"
            "  3 calls ran the function: calls with such arguments were still too few, or took too little time in all, "
            "to be recorded\n"
            "  1 call ran the function: such arguments were seen for the first time\n"
            "variant 0 for Float[2], 0 captured tensors, grad mode on: 1 operator\n");
}

TEST(CompileWhy, CalledForTooShortATimeYet) {
  std::string text;
  for (int attempt = 0; attempt < 20; ++attempt) {  // a busy machine may stop one for longer than a recording takes
    const auto fast =
        compile(plusOne, {.check = CompileCheck::kNever, .record_after = CompileOptions::kWhenItPays, .name = "f"});
    for (int i = 0; i < 10; ++i) fast(ones({2}));
    text = fast.explain();
    if (fast.counts().recorded == 0) break;
  }
  EXPECT_THAT(
      text, MatchesRegex(
                "f: 0 calls ran a graph, 10 the function\n"
                "(  [0-9]+ calls? ran the function: (calls with such arguments were still too few, or took too little "
                "time in all, to be recorded|such arguments were seen for the first time)\n)+"
                "no graph yet: calls with such arguments have taken [0-9.e-]+ ms; they run the function for [0-9.]+ "
                "ms more, then one is recorded .CompileOptions::record_after.\n"));
  EXPECT_EQ(callsListed(text), 10u);
}

TEST(CompileWhy, OutOfBudget) {
  const double before = jit::budget();
  jit::set_budget(0);
  const auto fast = compile(
      [](const Tensor& x) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return x + 1;
      },
      {.check = CompileCheck::kNever, .record_after = CompileOptions::kWhenItPays, .name = "f"});
  const Tensor x = ones({2});
  for (int i = 0; i < 100; ++i) fast(x);
  const std::string text = fast.explain();
  jit::set_budget(before);
  EXPECT_EQ(fast.counts().recorded, 0u);
  EXPECT_THAT(text, AllOf(HasSubstr(" ran the function: the budget had no room for recording\n"),
                          HasSubstr(", and waits for the budget; SHUNT_JIT_BUDGET is 0, so nothing is recorded\n")));
  EXPECT_EQ(callsListed(text), 100u);
}

struct Onlooker : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
};

TEST(CompileWhy, WhatTheThreadIsUnder) {
  using Call = std::function<Tensor(const Tensor&)>;
  struct Case {
    const char* why;
    std::function<void(const Call&, const Tensor&)> run;
  };
  const Case cases[] = {
      {"it was called in a trace", [](const Call& f, const Tensor& x) { trace(f, x); }},
      {"it was called inside vmap or grad", [](const Call& f, const Tensor& x) { vmap(f)(x); }},
      {"it was called under functionalize", [](const Call& f, const Tensor& x) { functionalize(f)(x); }},
      {"it was called in a fake mode",
       [](const Call& f, const Tensor& x) {
         const FakeTensorMode mode;
         f(ones(x.sizes()));
       }},
      {"a dispatch mode, or a key that a guard includes, was on",
       [](const Call& f, const Tensor& x) {
         Onlooker mode;
         const DispatchModeGuard guard(mode);
         f(x);
       }},
      {"a guard excluded keys",
       [](const Call& f, const Tensor& x) {
         const ExcludeDispatchKeyGuard guard(DispatchKey::BackendSelect);
         f(x);
       }},
      {"anomaly detection was on",
       [](const Call& f, const Tensor& x) {
         const autograd::DetectAnomalyGuard guard;
         f(x);
       }},
      {"saved-tensor hooks were on",
       [](const Call& f, const Tensor& x) {
         const autograd::SavedTensorHooksGuard guard(
             {.pack = [](const Tensor& t) { return std::make_shared<Tensor>(t); },
              .unpack = [](const std::shared_ptr<void>& packed) { return *std::static_pointer_cast<Tensor>(packed); }});
         f(x);
       }},
  };
  for (const Case& c : cases) {
    const auto fast = compile(plusOne, named("f"));
    c.run([&](const Tensor& t) { return fast(t); }, ones({2}));
    EXPECT_EQ(fast.explain(),
              detail::str("f: 0 calls ran a graph, 1 the function\n  1 call ran the function: ", c.why, '\n'));
  }
}

TEST(CompileWhy, TensorsThatNoGraphServes) {
  const auto fast = compile(plusOne, named("f"));
  fast(to_fake(ones({2})));
  EXPECT_EQ(fast.explain(),
            "f: 0 calls ran a graph, 1 the function\n"
            "  1 call ran the function: a tensor is a wrapper, or fake\n");
  const Tensor negative = ones({2});
  negative.unsafeGetTensorImpl()->set_key_set(negative.key_set() | DispatchKeySet(DispatchKey::Negative));
  const auto other = compile(plusOne, named("f"));
  other(negative);
  EXPECT_EQ(other.explain(),
            "f: 0 calls ran a graph, 1 the function\n"
            "  1 call ran the function: a tensor has keys for which operators may have special "
            "kernels\n");
}

TEST(CompileWhy, HistoriesFromOutsideOfAFunctionThatDifferentiates) {
  const auto f = [](const Tensor& a) { return autograd::grad({(a * a).sum()}, {a}, {}, true)[0]; };
  const auto linked = compile(f, named("f"));
  for (int i = 0; i < 4; ++i) linked(ones({2}).requires_grad_() * 2);
  EXPECT_EQ(linked.explain(),
            "f: 0 calls ran a graph, 4 the function\n"
            "  2 calls ran the function: a tensor has a graph from outside of the function\n"
            "  1 call ran the function: such arguments were seen for the first time\n"
            "  1 call ran the function: recording failed in that call\n"
            "not recorded: compile: a tensor has a graph from outside of the function, and the function differentiates "
            "itself\n"
            "no graph yet: recording failed for such arguments, and is retried after 29 more calls run the function\n");
  const auto hooked = compile(f, named("f"));
  const Tensor leaf = ones({2}).requires_grad_();
  leaf.register_hook([](const Tensor& g) { return g; });
  for (int i = 0; i < 3; ++i) hooked(leaf);
  EXPECT_THAT(hooked.explain(), HasSubstr("  1 call ran the function: a tensor has hooks\n"));
}

TEST(CompileWhy, WhatIsRefusedWhileItIsRecorded) {
  const auto fast = compile([](const Tensor& x) { return x * x.sum().item<double>(); }, named("f"));
  for (int i = 0; i < 3; ++i) fast(ones({2}));
  EXPECT_THAT(
      fast.explain(),
      MatchesRegex("f: 0 calls ran a graph, 3 the function\n"
                   "  1 call ran the function: such arguments were seen for the first time\n"
                   "  1 call ran the function: recording failed for such arguments, and a retry was not yet due\n"
                   "  1 call ran the function: recording failed in that call\n"
                   "not recorded: [^\n]*aten::_local_scalar_dense[^\n]*called from [^\n]*compile_why_test[^\n]*\n"
                   "no graph yet: recording failed for such arguments, and is retried after 28 more calls run the "
                   "function\n"));
  EXPECT_THAT(
      fast.explain(ones({2})),
      AllOf(StartsWith("f: runs the function: recording failed for such arguments, and is retried after 28 more "
                       "calls run the function"),
            HasSubstr("; the last attempt failed: "), HasSubstr("aten::_local_scalar_dense")));
}

struct TimesFive : autograd::Function<TimesFive> {
  static Tensor forward(autograd::AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    return x * 2;
  }
  static autograd::variable_list backward(autograd::AutogradContext* context, autograd::variable_list grads) {
    return {grads[0] * context->get_saved_variables()[0] * 5};
  }
};

TEST(CompileWhy, AHistoryThatGoesOnThroughACustomFunction) {
  const Tensor w = numbers({3}).requires_grad_();
  const auto fast = compile([&](const Tensor& x) { return TimesFive::apply(x * w).sum(); }, named("f"));
  for (int i = 0; i < 3; ++i) fast(ones({3}));
  EXPECT_EQ(fast.explain(),
            "f: 0 calls ran a graph, 3 the function\n"
            "  1 call ran the function: such arguments were seen for the first time\n"
            "  1 call ran the function: recording failed for such arguments, and a retry was not yet due\n"
            "  1 call ran the function: recording failed in that call\n"
            "not recorded: compile: the history of a result goes on through the custom autograd function TimesFive, "
            "whose node no graph can make: call backward() inside of the function, or return the result detached\n"
            "no graph yet: recording failed for such arguments, and is retried after 28 more calls run the function\n");
}

TEST(CompileWhy, MoreKindsOrSizesThanMayBe) {
  const auto by_kind =
      compile(plusOne, {.max_variants = 1, .check = CompileCheck::kNever, .record_after = 1, .name = "f"});
  for (int i = 0; i < 3; ++i) by_kind(ones({2}));
  for (int i = 0; i < 4; ++i) by_kind(ones({2}, kDouble));
  EXPECT_EQ(by_kind.explain(),
            "f: 2 calls ran a graph, 5 the function\n"
            "  4 calls ran the function: there are graphs for the maximum number of kinds of arguments "
            "(CompileOptions::max_variants)\n"
            "  1 call ran the function: such arguments were seen for the first time\n"
            "variant 0 for Float[2], 0 captured tensors, grad mode on: 1 operator\n"
            "the last call without a graph: there are graphs for 1 kind of arguments, the maximum "
            "(CompileOptions::max_variants)\n"
            "at most 1 kind of arguments can have graphs (CompileOptions::max_variants); each value of a number is a "
            "kind, so keep a number that changes often in a 0-dim tensor\n");
  const auto by_size =
      compile(plusOne, {.max_sizes = 1, .check = CompileCheck::kNever, .record_after = 1, .name = "f"});
  for (int i = 0; i < 3; ++i) by_size(ones({2}));
  for (int i = 0; i < 4; ++i) by_size(ones({3 + i}));
  EXPECT_EQ(by_size.explain(),
            "f: 2 calls ran a graph, 5 the function\n"
            "  4 calls ran the function: there are graphs for the maximum number of sizes of such arguments "
            "(CompileOptions::max_sizes)\n"
            "  1 call ran the function: such arguments were seen for the first time\n"
            "variant 0 for Float[2], 0 captured tensors, grad mode on: 1 operator\n"
            "the last call without a graph: there are graphs for 1 size of this kind, the maximum "
            "(CompileOptions::max_sizes)\n"
            "at most 1 size of one kind can have graphs (CompileOptions::max_sizes)\n");
}

TEST(CompileWhy, TooManyRegistrations) {
  const auto fast = compile([](const Tensor& x) { return relu(x); }, named("f"));
  const Tensor x = ones({3});
  for (int i = 0; i < 80; ++i) {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    library.impl("relu", +[](const Tensor& self) { return self.clamp(0, 16); });
    for (int k = 0; k < 3; ++k) fast(x);
  }
  EXPECT_THAT(
      fast.explain(),
      AllOf(HasSubstr(" ran the function: registrations invalidated too many graphs\n"),
            HasSubstr(" variants were recorded, and registrations invalidated most of them; no more are recorded\n")));
  EXPECT_EQ(callsListed(fast.explain()), fast.counts().eager);
}

TEST(CompileWhy, AFunctionThatIsGivenUp) {
  const Warnings quiet;
  const auto fast = compile([](const Tensor& x) { return x * x.sum().item<double>(); }, named("f"));
  for (int size = 1; size <= 3; ++size)
    for (int i = 0; i < 2; ++i) fast(ones({size}));
  for (int i = 0; i < 5; ++i) fast(ones({1}));
  EXPECT_THAT(fast.explain(),
              MatchesRegex("f: 0 calls ran a graph, 11 the function\n"
                           "  5 calls ran the function: the function is not recorded any more\n"
                           "  3 calls ran the function: such arguments were seen for the first time\n"
                           "  3 calls ran the function: recording failed in that call\n"
                           "not recorded any more: [^\n]*aten::_local_scalar_dense[^\n]*\n"
                           "3 calls had arguments that no call before had, and sizes or strides of tensor 0 of the "
                           "arguments changed 2 times: [^\n]*\n"));
}

TEST(CompileWhy, ArgumentsThatFailAsOftenAsIsTried) {
  const Warnings quiet;
  const auto fast = compile([](const Tensor& x) { return x * x.sum().item<double>(); }, named("f"));
  for (int i = 0; i < 600; ++i) fast(ones({2}));
  EXPECT_THAT(fast.explain(),
              AllOf(HasSubstr("  88 calls ran the function: recording failed for such arguments, and is not retried\n"),
                    HasSubstr("  3 calls ran the function: recording failed in that call\n"),
                    HasSubstr("no graph yet: recording failed 3 times for such arguments, and is not retried\n")));
  EXPECT_EQ(callsListed(fast.explain()), 600u);
}

TEST(CompileWhy, AGraphThatACheckFindsWrong) {
  const Warnings quiet;
  double k = 1;
  const auto fast =
      compile([&](const Tensor& x) { return x * k; }, {.check = CompileCheck::kFirst, .record_after = 1, .name = "f"});
  for (int i = 0; i < 6; ++i, ++k) EXPECT_TRUE(same(fast(ones({2})), ones({2}) * k));
  EXPECT_THAT(fast.explain(),
              AllOf(StartsWith("f: 2 calls ran a graph, 4 the function\n"
                               "  3 calls ran the function: a check has found that a graph differs from the function\n"
                               "  1 call ran the function: such arguments were seen for the first time\n"
                               "variant 0 (out of use) for Float[2], 0 captured tensors, grad mode on: 1 operator\n"),
                    HasSubstr("not recorded any more: run 2 of a graph was checked, and the graph and the function "
                              "differ in result 0")));
}

TEST(CompileWhy, WhileAnotherThreadRecords) {
  std::latch entered(1), called(1);
  std::atomic<int> runs{0};
  const auto fast = compile(
      [&](const Tensor& x) {
        if (++runs == 2) {  // it is recorded
          entered.count_down();
          called.wait();
        }
        return x + 1;
      },
      named("f"));
  fast(ones({2}));
  std::thread other([&] { fast(ones({2})); });
  entered.wait();
  fast(ones({2}));
  called.count_down();
  other.join();
  EXPECT_EQ(fast.explain(),
            "f: 1 call ran a graph, 2 the function\n"
            "  1 call ran the function: another call was recording the function, or this one came from inside of it\n"
            "  1 call ran the function: such arguments were seen for the first time\n"
            "variant 0 for Float[2], 0 captured tensors, grad mode on: 1 operator\n");
}

/// An operator that is slow, but where the function calls it: so its graph is slower.
thread_local bool is_called_by_function = false;

TEST(CompileWhy, AGraphThatIsSlower) {
  Library library(Library::Kind::kDef, "compile_why");
  library.def("slow(Tensor x) -> Tensor");
  library.impl("slow", DispatchKey::CPU, [](const Tensor& x) {
    if (!is_called_by_function) std::this_thread::sleep_for(std::chrono::microseconds(200));
    return x.clone();
  });
  library.impl("slow", DispatchKey::Meta, [](const Tensor& x) { return x.clone(); });
  const auto op = Dispatcher::singleton().findSchemaOrThrow("compile_why::slow", "").typed<Tensor(const Tensor&)>();
  const auto fast = compile(
      [&](const Tensor& x) {
        is_called_by_function = true;
        const Tensor out = op.call(x);
        is_called_by_function = false;
        return out + 1;
      },
      {.check = CompileCheck::kNever, .record_after = CompileOptions::kWhenItPays, .name = "f"});
  const Tensor x = ones({3});
  const auto isOff = [&] { return fast.explain(x).find("with the graph and") != std::string::npos; };
  const auto hasRunFunction = [&] { return fast.explain().find("the graph is slower") != std::string::npos; };
  uint64_t calls = 0;
  for (; calls < 200'000 && !(isOff() && hasRunFunction()); ++calls) fast(x);  // before the next trial, whenever it is
  const std::string text = fast.explain();
  EXPECT_THAT(text, AllOf(HasSubstr(" ran the function: the graph is slower\n"),
                          HasSubstr(" ran the function: it was their turn in a trial that times the graph against the "
                                    "function\n"),
                          HasSubstr("  calls run the function: a call takes ")));
  EXPECT_EQ(callsListed(text), fast.counts().eager);
  EXPECT_EQ(fast.counts().eager + fast.counts().hits, calls);
}

// Whichever way calls go: by all reasons in turns, while others pass by.
TEST(CompileWhy, EveryCallHasAReason) {
  const auto fast = compile(plusOne, {.max_variants = 2,
                                      .max_sizes = 2,
                                      .check = CompileCheck::kNever,
                                      .record_after = CompileOptions::kWhenItPays,
                                      .name = "f"});
  const ScalarType dtypes[] = {kFloat, kDouble, kLong};
  for (uint64_t i = 0; i < 30'000; ++i) {
    const Tensor x = ones({static_cast<int64_t>(1 + i / 7 % 5)}, dtypes[i / 100 % 3]);
    if (i % 50 == 0) {
      Onlooker mode;
      const DispatchModeGuard guard(mode);
      fast(x);
    } else {
      fast(x);
    }
    if (i % 997 == 0) ASSERT_EQ(callsListed(fast.explain()), fast.counts().eager) << i << '\n' << fast.explain();
  }
}

}  // namespace
}  // namespace shunt::test
