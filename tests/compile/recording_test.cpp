// What recording finds out about a function: what a graph can't do runs the function, and explain() says why.
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/transforms/grad_transforms.h>
#include <shunt/transforms/vmap.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using testing::HasSubstr;

constexpr int kCalls = 5;

TEST(CompileRecording, AVariableThatKeepsATensor) {
  Tensor kept = zeros({2});
  auto fast = compile([&](const Tensor& x) {
    kept = x * 2;
    return x + 1;
  });
  const Tensor x = numbers({2});
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(same(fast(x), x + 1));
    EXPECT_TRUE(same(kept, x * 2)) << i;
  }
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(
      fast.explain(),
      HasSubstr("compile: the function keeps a tensor of shape [2], the result of aten::mul.Scalar, in a variable that "
                "outlives the call"));
}

TEST(CompileRecording, AVariableThatKeepsAnArgument) {
  Tensor kept;
  auto fast = compile([&](const Tensor& x) {
    kept = x;
    return x + 1;
  });
  for (int i = 0; i < kCalls; ++i) fast(ones({2}));
  EXPECT_THAT(fast.explain(), HasSubstr("keeps a tensor of shape [2], which it was given, in a variable"));
}

TEST(CompileRecording, ReasonsSayWhereAndWhatToDo) {
  const auto reasonOf = [](auto f) {
    auto fast = compile(f);
    for (int i = 0; i < kCalls; ++i) fast(numbers({2}));
    EXPECT_EQ(fast.counts().hits, 0u);
    return fast.explain();
  };
  EXPECT_THAT(reasonOf([](const Tensor& x) { return x.index({x.gt(0)}); }),
              HasSubstr("operator aten::index.Tensor: a boolean mask makes the sizes of its result depend on elements, "
                        "and compile() records operators, not numbers. Compute with tensors of fixed sizes instead "
                        "(where(), masked_fill(), clamp()), or call the operator outside of the compiled function "
                        "(called from "));
  EXPECT_THAT(
      reasonOf([](const Tensor& x) { return x + *x.data_ptr<float>(); }),
      HasSubstr("cannot access data pointer of a traced tensor of shape [2]: it stands for a value of the graph "
                "that is being recorded, and has no elements. Use operators, or read the elements outside of "
                "the compiled function (called from "));
  EXPECT_THAT(reasonOf([](const Tensor& x) {
                manual_seed(3);
                return x + rand({2});
              }),
              HasSubstr("compile: the function makes or seeds a generator, and a graph contains operators only: do it "
                        "outside of the function (called from "));
  EXPECT_THAT(reasonOf([](const Tensor& x) { return x + x._version(); }),
              HasSubstr("compile: the function reads the version of a tensor that it was given, which differs at each "
                        "call: read it outside of the function (called from "));
}

TEST(CompileRecording, AVariableThatItsNextCallReads) {
  Tensor state = zeros({2});
  auto fast = compile([&](const Tensor& x) {
    state = state + x;
    return state * 1;
  });
  fast(ones({2}));
  const std::string error = errorOf([&] { fast(ones({2})); });
  EXPECT_THAT(error, HasSubstr("is dead"));
  EXPECT_THAT(error, HasSubstr("compile() has recorded has put it into a variable"));
  state = ones({2});
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(same(fast(ones({2})), ones({2}) * (i + 2))) << "and not recorded again";
}

TEST(CompileRecording, SeedingToWhereItStood) {
  auto fast = compile([](const Tensor& x) {
    const auto position = default_generator()->position();
    const Tensor drawn = rand({2});
    default_generator()->set_position(position);
    return x + drawn;
  });
  manual_seed(5);
  const Tensor first = fast(ones({2}));
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(ones({2})), first));
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("seeds a generator"));
}

TEST(CompileRecording, AGeneratorOfItsOwn) {
  auto fast = compile([](const Tensor& x) { return x.clone().normal_(0, 1, make_generator(3)); });
  const Tensor first = fast(ones({4}));
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(ones({4})), first));
  EXPECT_EQ(fast.counts().hits, 0u);
}

TEST(CompileRecording, AnErrorThatTheFunctionCatches) {
  const auto read = [](const Tensor& x) {
    double v = -1;
    errorOf([&] { v = x.sum().item().toDouble(); });
    return x * v;
  };
  const auto retry = [](const Tensor& x) {
    Tensor y = x * 2;
    errorOf([&] { y = y.view({7}); });
    return y + 1;
  };
  auto reads = compile(read);
  auto retries = compile(retry);
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(same(reads(ones({2})), read(ones({2})))) << "a number that only a recording lacks";
    EXPECT_TRUE(same(retries(ones({2})), retry(ones({2}))));
  }
  EXPECT_EQ(reads.counts().hits, 0u);
  EXPECT_THAT(reads.explain(),
              HasSubstr("gets others when it is recorded: item(), operator aten::_local_scalar_dense"));
  EXPECT_EQ(retries.counts().recorded, 1u);
  EXPECT_EQ(retries.counts().hits, kCalls - 2u) << "one that the function gets at each call is no obstacle";
}

// The inner graph's error is thrown by the inner function again: the outer one gets it once, as when it is recorded.
TEST(CompileRecording, AnErrorOfACompiledFunctionInside) {
  auto inner = compile([](const Tensor& x, const Tensor& i) { return x.index_select(0, i) + 1; });
  const Tensor x = ones({2}), good = tensor({1}), bad = tensor({5});
  for (int i = 0; i < 3; ++i) inner(x, good);
  auto outer = compile([&](const Tensor& t) {
    errorOf([&] { inner(t.view({2, 1}).view({7}), good); });
    return inner(t, good) * 2;
  });
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(outer(x), full({1}, 4.f)));
  EXPECT_EQ(outer.counts().hits, kCalls - 2u) << outer.explain();
  EXPECT_THAT(errorOf([&] { inner(x, bad); }), HasSubstr("out of range"));
}

TEST(CompileRecording, AnErrorThatTheFunctionCatchesNowAndThen) {
  bool computes = false;
  auto fast = compile([&](const Tensor& x) {
    const std::string error = errorOf([&] { computes ? x.view({5}) : x.view({7}); });
    computes = true;
    return x + static_cast<double>(error.size());
  });
  fast(ones({2}));
  computes = false;
  for (int i = 0; i < kCalls; ++i) fast(ones({2}));
  EXPECT_EQ(fast.counts().hits, 0u);
}

TEST(CompileRecording, AViewThatAutocastReadsAfterItsBaseChanged) {
  const Tensor w = ones({2, 1}).requires_grad_();
  auto fast = compile([&](const Tensor& x) {
    const AutocastGuard autocast(kCPU);
    Tensor base = x * 2;
    const Tensor part = base.split(1, -1)[0];
    base.mul_(w);
    const NoGradGuard no_grad;
    return part.matmul(part.t());
  });
  const Tensor x = numbers({2, 2}), expected = fast(x);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), expected));
  EXPECT_EQ(fast.counts().hits, static_cast<uint64_t>(kCalls)) << fast.explain();
}

TEST(CompileRecording, AVersion) {
  const Tensor captured = zeros({2});
  const auto of_argument = [](const Tensor& x) { return x * static_cast<double>(x.view({2})._version()); };
  const auto of_captured = [&](const Tensor& x) {
    Tensor(captured).add_(1);
    return x * static_cast<double>(captured._version());
  };
  const auto of_own = [](const Tensor& x) {
    Tensor made = x * 2;
    made.view({2}).add_(1);
    return x * static_cast<double>(made._version());
  };
  auto first = compile(of_argument);
  auto second = compile(of_captured);
  auto third = compile(of_own);
  Tensor x = ones({2});
  for (int i = 0; i < kCalls; ++i) {
    x.fill_(2);
    EXPECT_TRUE(same(first(x), of_argument(x)));
    EXPECT_TRUE(same(second(x), x * static_cast<double>(captured._version())));
    EXPECT_TRUE(same(third(x), of_own(x)));
  }
  EXPECT_EQ(first.counts().hits + second.counts().hits, 0u);
  EXPECT_THAT(first.explain(), HasSubstr("reads the version of a tensor that it was given"));
  EXPECT_GE(third.counts().hits, 3u) << "which is the same at each call";
}

TEST(CompileRecording, AnotherDefaultDtypeInside) {
  const auto function = [](const Tensor& x) {
    const ScalarType before = get_default_dtype();
    set_default_dtype(kDouble);
    Tensor made = ones({2});
    set_default_dtype(before);
    return x + made;
  };
  const auto fast = compile(function);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(ones({2})), function(ones({2}))));
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("calls operators under another default dtype than it was called with"));
}

// What no later call is compared by, of a tensor from outside: of one that the function makes it is always the same.
TEST(CompileRecording, AnswersThatBelongToOneTensor) {
  const Tensor w = ones({2}).requires_grad_();
  const auto number = [](int64_t n) { return static_cast<double>(n); };
  const auto output = [&](const Tensor& x) { return x * number(x.output_nr()); };
  const auto retains = [&](const Tensor& x) { return x * number(x.retains_grad() ? 2 : 3); };
  const auto text = [&](const Tensor& x) { return x * number(static_cast<int64_t>(x.toString().size())); };
  const auto caught = [&](const Tensor& x) {
    try {
      return x * number(static_cast<int64_t>((x * 2).toString().size()));
    } catch (const std::exception&) {
      return x;
    }
  };
  const auto of_own = [&](const Tensor& x) {
    const Tensor part = (x * 2).split(1)[1];
    return x * number(part.output_nr()) + (part.retains_grad() ? 1 : 2);
  };
  const auto first = compile(output);
  const auto second = compile(retains);
  const auto third = compile(text);
  const auto fourth = compile(caught);
  const auto fifth = compile(of_own);
  for (int i = 0; i < 2 * kCalls; ++i) {
    const Tensor one = (w * 1.0).split(1)[static_cast<size_t>(i % 2)], kept = w * (i + 0.125);
    if (i % 3 == 2) kept.retain_grad();
    EXPECT_TRUE(same(first(one), output(one))) << i;
    EXPECT_TRUE(same(second(kept), retains(kept))) << i;
    EXPECT_TRUE(same(third(kept), text(kept))) << i;
    EXPECT_TRUE(same(fourth(kept), caught(kept))) << i;
    EXPECT_TRUE(same(fifth(kept), of_own(kept))) << i;
  }
  EXPECT_EQ(first.counts().hits, 0u) << first.explain();
  EXPECT_EQ(second.counts().hits + third.counts().hits + fourth.counts().hits, 0u);
  EXPECT_GE(fifth.counts().hits, 3u) << fifth.explain();
  EXPECT_THAT(first.explain(), HasSubstr("output_nr(), of a tensor of shape [1] from outside of the function: a graph "
                                         "would have the answer for the tensor that is there now"));
  EXPECT_THAT(third.explain(), HasSubstr("the text of a tensor of shape [2]: a graph would have the elements that are "
                                         "there now, and print nothing"));
}

// Nothing is read or written while a function is recorded, so what it does to elements itself happens once a call.
TEST(CompileRecording, ElementsOfACapturedTensor) {
  const Tensor w = zeros({1}), mask = zeros({1}, kBool);
  auto reads = compile([&](const Tensor& x) { return x * static_cast<double>(w.data_ptr<float>()[0]); });
  auto writes = compile([&](const Tensor& x) {
    static_cast<float*>(w.data_ptr())[0] += 1;
    return x + w;
  });
  auto branches = compile([&](const Tensor& x) { return mask.accessor<bool, 1>()[0] ? x * 2 : x; });
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = ones({1});
    EXPECT_TRUE(same(reads(x), x * static_cast<double>(i)));
    EXPECT_TRUE(same(writes(x), x + static_cast<double>(i + 1)));
    EXPECT_TRUE(same(w, full({1}, i + 1.0))) << i;
    Tensor(mask).fill_(i % 2 == 1);
    EXPECT_TRUE(same(branches(x), i % 2 == 1 ? x * 2 : x));
  }
  EXPECT_EQ(reads.counts().hits + writes.counts().hits + branches.counts().hits, 0u);
  EXPECT_THAT(reads.explain(), HasSubstr("data_ptr(), of a tensor of shape [1] from outside of the function"));
}

TEST(CompileRecording, ElementsAndVersionsInsideOfGradAndVmap) {
  const Tensor w = zeros({1});
  using Number = double (*)(const Tensor&);
  const Number numbers_of[] = {[](const Tensor& t) { return static_cast<double>(t.data_ptr<float>()[0]); },
                               [](const Tensor& t) { return t.item().toDouble(); },
                               [](const Tensor& t) { return static_cast<double>(t._version()); }};
  for (const Number number : numbers_of) {
    Tensor(w).zero_();
    const auto f = [&](const Tensor& x) { return (x * number(w)).sum(); };
    auto in_grad = compile(grad(f));
    auto in_both = compile(vmap(grad(f)));
    auto in_vmap = compile(vmap(f));
    for (int i = 0; i < kCalls; ++i) {
      const Tensor x = ones({2, 3});
      EXPECT_TRUE(same(in_grad(x), grad(f)(x)));
      EXPECT_TRUE(same(in_both(x), vmap(grad(f))(x)));
      EXPECT_TRUE(same(in_vmap(x), vmap(f)(x)));
      Tensor(w).add_(1);
    }
    EXPECT_EQ(in_grad.counts().hits + in_both.counts().hits + in_vmap.counts().hits, 0u);
  }
}

TEST(CompileRecording, ATensorOfNumbersHasElements) {
  auto fast = compile([](const Tensor& x) { return x + tensor({1.5f, 2.5f}) * scalar_to_tensor(2); });
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(zeros({2})), tensor({3.f, 5.f})));
  EXPECT_EQ(fast.counts().hits, kCalls - 1u) << fast.explain();
}

TEST(CompileRecording, AHistoryOfWhichAPartIsOver) {
  const Tensor w = numbers({3}).requires_grad_(), b = numbers({}, 8).requires_grad_();
  auto fast = compile([&](const Tensor& x) {
    const Tensor y = (x * w).sum() + b;
    y.backward();
    return y;
  });
  for (int i = 0; i < kCalls; ++i) {
    const Tensor y = fast(ones({3}));
    EXPECT_TRUE(same(autograd::grad({y}, {b})[0], ones({}))) << "this part saves nothing";
    EXPECT_THAT(errorOf([&] { autograd::grad({y}, {w}); }), HasSubstr("second time"));
  }
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("a part of the graph"));
}

TEST(CompileRecording, CastsThatAutocastKeeps) {
  const Tensor w = numbers({3, 4}).requires_grad_();
  const auto f = [&](const Tensor& x) { return linear(x, w, {}).sum(); };
  auto fast = compile(f);
  const Tensor x = numbers({2, 4}, 8);
  for (int round = 0; round < 3; ++round) {
    const AutocastGuard outer(kCPU, kBFloat16);
    for (int i = 0; i < kCalls; ++i) {
      const Tensor expected = f(x);
      EXPECT_TRUE(same(fast(x), expected)) << i;
      EXPECT_TRUE(same(f(x), expected)) << "the function finds none of the recording's";
      const NoGradGuard no_grad;
      Tensor(w).add_(1);
    }
  }
  EXPECT_EQ(fast.counts().hits, 3 * kCalls - 1u) << fast.explain();
}

TEST(CompileRecording, WhatTheFunctionThrows) {
  auto odd = compile([](const Tensor& x) {
    if (x.size(0) > 2) throw 7;
    return x * 2;
  });
  for (int i = 0; i < kCalls; ++i) EXPECT_THROW(odd(ones({3})), int);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(odd(ones({2})), ones({2}) * 2));
  EXPECT_EQ(odd.counts().hits, kCalls - 1u) << "its own errors are no reason to give up";
  const auto f = [](const Tensor& x, const Tensor& y) { return x.add(1).div(y, "floor"); };
  auto fast = compile(f);
  const Tensor x = ones({2}, kLong), y = x.clone(), zero = zeros({2}, kLong);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x, y), f(x, y)));
  for (int i = 0; i < kCalls; ++i) EXPECT_EQ(errorOf([&] { fast(x, zero); }), errorOf([&] { f(x, zero); }));
  EXPECT_TRUE(same(fast(x, y), f(x, y)));
  EXPECT_EQ(fast.counts().recorded, 1u);
}

TEST(CompileRecording, AnAttemptLaterOn) {
  bool reads = true;
  auto fast = compile([&](const Tensor& x) {
    if (reads) (void)x.sum().item<float>();
    return x * 2;
  });
  for (int i = 0; i < kCalls; ++i) fast(ones({2}));
  EXPECT_EQ(fast.counts().recorded, 0u);
  reads = false;
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(same(fast(ones({2})), ones({2}) * 2));
  EXPECT_EQ(fast.counts().recorded, 1u);
}

}  // namespace
}  // namespace shunt::test
