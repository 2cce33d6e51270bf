// CompileCheck::kFirst: a graph that what C++ can't see makes wrong is found in its first runs, with a warning that
// says where; results and effects are the function's meanwhile, and each happens once.
#include "tests/compile/same.h"
#include "tests/compile/warnings.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace shunt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const CompileOptions kChecked{.check = CompileCheck::kFirst, .name = "checked"};

/// A function of a tensor, what changes before each call, and the operator that a warning names.
struct Frozen {
  std::function<Tensor(const Tensor&)> f;
  std::function<void(int call)> change;
  std::string named;
};

/// Calls give what eager code gives, and there is one warning.
void expectFound(const std::function<Frozen()>& make) {
  const Frozen eager = make(), frozen = make();
  auto fast = compile(frozen.f, kChecked);
  const Warnings warnings;
  for (int call = 0; call < 8; ++call) {
    eager.change(call);
    frozen.change(call);
    const Tensor x = numbers({3}, 5);
    EXPECT_TRUE(same(fast(x), eager.f(x))) << "call " << call << '\n' << warnings.text();
  }
  EXPECT_EQ(warnings.all().size(), 1u) << warnings.text();
  EXPECT_THAT(warnings.text(),
              AllOf(HasSubstr("checked: run "), HasSubstr(frozen.named),
                    HasSubstr("pass what changes as an argument, keep it in a 0-dim tensor, or name it "
                              "in CompileOptions::captures or ::scalars")));
  EXPECT_THAT(fast.explain(), HasSubstr("not recorded any more: run "));
  EXPECT_EQ(fast.counts().recorded, 1u);
}

TEST(FirstCheck, ADouble) {
  expectFound([] {
    auto s = std::make_shared<double>(0);
    return Frozen{[s](const Tensor& x) { return (x.relu() * *s).exp() + 1; }, [s](int call) { *s = call; },
                  "aten::mul.Scalar, whose argument 'other' was 1"};
  });
}

TEST(FirstCheck, AnIntegerThatIsADimension) {
  expectFound([] {
    auto s = std::make_shared<int64_t>(0);
    return Frozen{[s](const Tensor& x) { return x.reshape({3, 1}).sum(*s); }, [s](int call) { *s = call / 2 % 2; },
                  "aten::sum.dim_IntList, whose argument 'dim'"};
  });
}

TEST(FirstCheck, ATruthValueThatChoosesAnOperator) {
  expectFound([] {
    auto s = std::make_shared<bool>(false);
    return Frozen{[s](const Tensor& x) { return *s ? x.tanh() : x.sigmoid(); }, [s](int call) { *s = call > 1; },
                  "aten::tanh, which the function calls now where the graph has aten::sigmoid"};
  });
}

TEST(FirstCheck, ATextThatChoosesAnOperator) {
  expectFound([] {
    auto s = std::make_shared<std::string>("none");
    return Frozen{[s](const Tensor& x) { return gelu(x, *s); }, [s](int call) { *s = call > 1 ? "tanh" : "none"; },
                  "aten::gelu, whose argument 'approximate'"};
  });
}

TEST(FirstCheck, AMemberOfAStruct) {
  struct Net {
    double slope = 0;
    Tensor operator()(const Tensor& x) const { return leaky_relu(x - 100, slope); }
  };
  expectFound([] {
    auto s = std::make_shared<Net>();
    return Frozen{[s](const Tensor& x) { return (*s)(x); }, [s](int call) { s->slope = call; }, "aten::leaky_relu"};
  });
}

double global_factor = 0;
TEST(FirstCheck, AGlobal) {
  expectFound([] {
    return Frozen{[](const Tensor& x) { return x * global_factor; }, [](int call) { global_factor = call; },
                  "aten::mul.Scalar"};
  });
}

TEST(FirstCheck, AVariableThatHoldsAnotherTensor) {
  expectFound([] {
    auto s = std::make_shared<Tensor>();
    return Frozen{[s](const Tensor& x) { return (x + *s).tanh(); }, [s](int call) { *s = full({3}, call); },
                  "aten::add.Tensor, whose argument 'other' was a captured tensor of shape [3] when the graph was "
                  "recorded and is another tensor now"};
  });
}

TEST(FirstCheck, AListOfTensorsThatGrows) {
  expectFound([] {
    auto s = std::make_shared<std::vector<Tensor>>();
    return Frozen{[s](const Tensor& x) {
                    Tensor sum = x * 2;
                    for (const Tensor& t : *s) sum = sum + t;
                    return sum;
                  },
                  [s](int call) {
                    if (call % 2 == 0) s->push_back(full({3}, call));
                  },
                  "aten::add.Tensor, which the function calls now behind what the graph has"};
  });
}

// Nothing that the graph knows of differs.
TEST(FirstCheck, AListOfTensorsThatGrowsAndIsOnlyWritten) {
  std::vector<Tensor> list = {zeros({2})};
  auto fast = compile(
      [&](const Tensor& x) {
        for (const Tensor& t : list) Tensor(t).add_(x);
      },
      kChecked);
  const Warnings warnings;
  for (int call = 0; call < 2; ++call) fast(ones({2}));
  list.push_back(zeros({2}));
  for (int call = 0; call < 3; ++call) fast(ones({2}));
  EXPECT_TRUE(list[0].eq(5).all().item<bool>());
  EXPECT_TRUE(list[1].eq(3).all().item<bool>());
  EXPECT_THAT(warnings.text(), HasSubstr("aten::add_.Tensor writes a tensor that the graph knows nothing of"));
}

TEST(FirstCheck, ACapturedPointer) {
  expectFound([] {
    auto s = std::make_shared<std::array<float, 3>>();
    return Frozen{[s](const Tensor& x) { return x + tensor({(*s)[0], (*s)[1]}).sum(); },
                  [s](int call) { (*s)[1] = static_cast<float>(call); }, "aten::"};
  });
}

TEST(FirstCheck, RandomNumbersOfTheCLibrary) {
  expectFound([] {
    auto seed = std::make_shared<int>(0);
    return Frozen{[seed](const Tensor& x) {
                    std::srand(static_cast<unsigned>(*seed));
                    return x * std::rand();
                  },
                  [seed](int call) { *seed = call + 1; }, "aten::mul.Scalar"};
  });
}

TEST(FirstCheck, AnExceptionThatDependsOnWhatIsCaptured) {
  bool stops = false;
  auto fast = compile(
      [&](const Tensor& x) {
        if (stops) throw std::runtime_error("stopped");
        return x * 2;
      },
      kChecked);
  const Warnings warnings;
  for (int call = 0; call < 3; ++call) fast(ones({2}));
  stops = true;
  for (int call = 0; call < 3; ++call) EXPECT_THROW(fast(ones({2})), std::runtime_error);
  EXPECT_THAT(warnings.text(), HasSubstr("the function throws, and the graph doesn't: stopped"));
}

TEST(FirstCheck, OfTheBackwardPassAlone) {
  double slope = 1;
  auto fast = compile([&](const Tensor& x) { return x.detach() + (x - x.detach()) * slope; }, kChecked);
  const Warnings warnings;
  std::vector<float> gradients;
  for (int call = 0; call < 6; ++call) {
    const Tensor x = ones({2}).requires_grad_();
    slope = call;
    fast(x).sum().backward();
    gradients.push_back(x.grad()[0].item<float>());
  }
  EXPECT_THAT(gradients, testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(
      warnings.text(),
      AllOf(HasSubstr("the backward pass of result 0: the gradient of a tensor of shape [2]: element [0] is"),
            HasSubstr("aten::mul.Scalar, whose argument 'other' was 1 when the graph was recorded and is 2 now"),
            HasSubstr("No run before it was compared. ")));
}

TEST(FirstCheck, ALaterRunIsFoundAtADistanceThatDoubles) {
  double factor = 2;
  auto fast = compile([&](const Tensor& x) { return x * factor; }, kChecked);
  const Warnings warnings;
  for (int call = 0; call < 100; ++call) fast(ones({2}));
  factor = 3;
  int wrong = 0;
  for (int call = 0; call < 5000 && warnings.all().empty(); ++call) wrong += fast(ones({2}))[0].item<float>() != 3;
  EXPECT_THAT(warnings.text(), HasSubstr("aten::mul.Scalar"));
  EXPECT_THAT(warnings.text(), HasSubstr(", showed no difference; the results of the runs in between may be wrong. "));
  EXPECT_GT(wrong, 0);
  EXPECT_EQ(fast(ones({2}))[0].item<float>(), 3);
}

// What the graph has read of the tensor is gone when the two are compared.
TEST(FirstCheck, MemoryThatTheFunctionMoves) {
  const Tensor buffer = full({4}, 1);
  bool grows = false;
  auto fast = compile(
      [&](const Tensor& x) {
        if (grows) Tensor(buffer).resize_({1 << 16}).fill_(2);
        return std::vector<Tensor>{x + 1, buffer.narrow(0, grows ? 2 : 0, 2)};
      },
      kChecked);
  const Warnings warnings;
  for (int call = 0; call < 2; ++call) fast(ones({2}));
  grows = true;
  EXPECT_EQ(fast(ones({2}))[1][0].item<float>(), 2);
  EXPECT_THAT(warnings.text(), HasSubstr("differ in the memory of a tensor of shape [65536]: the function puts it "
                                         "elsewhere"));
}

// A run that can't be compared is not found right.
TEST(FirstCheck, WhatCantBeComparedIsNotRight) {
  double factor = 2;
  bool is_short_of_memory = false;
  auto fast = compile(
      [&](const Tensor& x) {
        if (is_short_of_memory) throw std::bad_alloc();
        return x * factor;
      },
      kChecked);
  const Warnings warnings;
  fast(ones({2}));                                       // runs the function
  for (int call = 0; call < 2; ++call) fast(ones({2}));  // records it; run 2 is right
  is_short_of_memory = true;
  for (int call = 0; call < 4; ++call) EXPECT_THROW(fast(ones({2})), std::bad_alloc);
  EXPECT_THAT(fast.explain(), HasSubstr("  checked without a difference in 1 of 6 runs, most recently in run 2\n"));
  EXPECT_THAT(warnings.text(), IsEmpty());
  is_short_of_memory = false;
  factor = 3;
  for (int call = 0; call < 2; ++call) EXPECT_EQ(fast(ones({2}))[0].item<float>(), call == 0 ? 2 : 3);
  EXPECT_THAT(warnings.text(),
              HasSubstr("Run 2, the last one compared before it, showed no difference; the results of the runs in "
                        "between may be wrong. "));
}

TEST(FirstCheck, WhatIsNamedIsNoDifference) {
  double factor = 0;
  Tensor w;
  auto fast = compile([&](const Tensor& x) { return x * factor + w; },
                      {.captures = {&w}, .scalars = {&factor}, .check = CompileCheck::kFirst});
  const Warnings warnings;
  for (int call = 0; call < 12; ++call) {
    factor = call % 2;
    w = full({2}, call);
    EXPECT_EQ(fast(ones({2}))[0].item<float>(), static_cast<float>(call + call % 2));
  }
  EXPECT_THAT(warnings.text(), IsEmpty());
}

TEST(FirstCheck, MemoryThatACallLends) {
  const auto f = [](const Tensor& x) {
    std::array<float, 4> local{1, 2, 3, 4};
    return x + from_blob(local.data(), {4});
  };
  auto fast = compile(f, kChecked);
  const Warnings warnings;
  for (int call = 0; call < 5; ++call) EXPECT_TRUE(same(fast(zeros({4})), f(zeros({4}))));
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("from_blob(), of a tensor of shape [4]: a graph would have the memory that is "
                                        "there now"));
}

TEST(FirstCheck, MemoryThatWasThereBefore) {
  std::array<float, 2> memory{1, 2};
  const Tensor outside = from_blob(memory.data(), {2});
  auto fast = compile([&](const Tensor& x) { return outside.add_(x); }, kChecked);
  const Warnings warnings;
  for (int call = 0; call < 6; ++call) fast(ones({2}));
  EXPECT_EQ(memory[1], 8);
  EXPECT_EQ(fast.counts().hits, 5u);
  EXPECT_THAT(warnings.text(), IsEmpty());
}

}  // namespace
}  // namespace shunt::test
