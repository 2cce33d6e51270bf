// Arguments of a functionalized function that share memory, that become leaves in it, and whose grad it sets.
#include "tests/functionalize/util.h"
#include "tests/support/wrapper.h"

#include <shunt/interpose/tensor_subclass.h>

#include <functional>
#include <optional>

namespace shunt::test {
namespace {

using List = std::vector<Tensor>;

Tensor leaf(std::vector<int64_t> sizes) { return iota(std::move(sizes)).add(2).requires_grad_(); }

struct Case {
  const char* name;
  std::function<List()> arguments;         // the first has a graph, if one has
  std::function<Tensor(const List&)> run;  // what is differentiated in the end
};

const std::vector<Case> kShared = {
    {"a leaf and itself detached, the leaf written",
     [] {
       const Tensor w = leaf({3});
       return List{w, w.detach()};
     },
     [](const List& a) {
       {
         const NoGradGuard no_grad;
         a[0].mul_(2);
       }
       return (a[0] * a[1]).sum();
     }},
    {"a leaf and itself detached, the other written",
     [] {
       const Tensor w = leaf({3});
       return List{w, w.detach()};
     },
     [](const List& a) {
       a[1].mul_(2);
       return (a[0] * a[0]).sum();
     }},
    {"a leaf and a part of it detached, the other written",
     [] {
       const Tensor w = leaf({2, 3});
       return List{w, w.detach().select(0, 1)};
     },
     [](const List& a) {
       a[1].mul_(2);
       return (a[0] * a[0] * a[1]).sum();
     }},
    {"a leaf and a view of it, the leaf written",
     [] {
       const Tensor w = leaf({3, 2});
       return List{w, w.select(0, 0)};
     },
     [](const List& a) {
       {
         const NoGradGuard no_grad;
         a[0].mul_(2);
       }
       return (a[0] * a[0]).sum() + a[1].sum();
     }},
    {"an interior tensor and a view of it, the view written",
     [] {
       const Tensor x = leaf({3}) * 2;
       return List{x, x.narrow(0, 0, 2)};
     },
     [](const List& a) {
       a[1].mul_(3);
       return a[1].sum() + (a[0] * a[0]).sum();
     }},
    {"an interior tensor and a view of it, the base written",
     [] {
       const Tensor x = leaf({3}) * 2;
       return List{x, x.narrow(0, 1, 2)};
     },
     [](const List& a) {
       a[0].mul_(3);
       return (a[1] * a[1]).sum() + a[0].sum();
     }},
    {"two views of an interior tensor",
     [] {
       const Tensor x = leaf({4}) * 2;
       return List{x.narrow(0, 0, 2), x.narrow(0, 2, 2)};
     },
     [](const List& a) {
       a[0].mul_(3);
       a[1].add_(a[0]);
       return (a[0] * a[1]).sum();
     }},
    {"two views of what has no graph, an operand that has",
     [] {
       const Tensor x = iota({4}).clone();
       return List{x.narrow(0, 0, 3), x.narrow(0, 2, 2), leaf({2})};
     },
     [](const List& a) {
       a[1].mul_(a[2]);
       return (a[0] * a[0]).sum();
     }},
    {"whole numbers seen through views of another dtype",
     [] {
       const Tensor i = iota({4}).clone().view(kInt);
       return List{leaf({2}), i.narrow(0, 0, 2), i.narrow(0, 1, 2)};
     },
     [](const List& a) {
       a[1].fill_(7);
       return (a[0] * a[2].add(a[1])).sum();
     }},
};

struct Seen {
  Tensor result;
  List arguments;
  List grads;
};

Seen see(const Case& c, bool functionalized, bool reversed) {
  Seen seen;
  seen.arguments = c.arguments();
  List given = seen.arguments;
  if (reversed) std::reverse(given.begin(), given.end());
  const auto run = [&](const List& given) {
    List arguments = given;
    if (reversed) std::reverse(arguments.begin(), arguments.end());
    return c.run(arguments);
  };
  List sources;
  for (const Tensor& t : seen.arguments)
    if (t.requires_grad()) sources.push_back(t.is_leaf() ? t : t.is_view() ? t._base() : t);
  for (const Tensor& t : sources)
    if (!t.is_leaf()) t.retain_grad();
  seen.result = functionalized ? functionalize(run)(given) : run(given);
  for (const Tensor& t : seen.arguments) sources.push_back(t);
  seen.result.backward();
  for (const Tensor& t : sources) seen.grads.push_back(t.is_leaf() ? t.grad() : Tensor());
  return seen;
}

TEST(FunctionalizeArguments, ThatShareMemoryAreAsInThePlainProgram) {
  for (const Case& c : kShared)
    for (const bool reversed : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.name << (reversed ? ", the other order" : ""));
      const Seen plain = see(c, false, reversed), got = see(c, true, reversed);
      EXPECT_TRUE(identical(plain.result, got.result)) << plain.result << got.result;
      for (size_t i = 0; i < plain.arguments.size(); ++i) {
        EXPECT_TRUE(identical(plain.arguments[i], got.arguments[i])) << i << plain.arguments[i] << got.arguments[i];
        EXPECT_EQ(plain.arguments[i].requires_grad(), got.arguments[i].requires_grad()) << i;
        EXPECT_EQ(plain.arguments[i].is_leaf(), got.arguments[i].is_leaf()) << i;
      }
      ASSERT_EQ(plain.grads.size(), got.grads.size());
      for (size_t i = 0; i < plain.grads.size(); ++i) {
        ASSERT_EQ(plain.grads[i].defined(), got.grads[i].defined()) << i;
        if (plain.grads[i].defined())
          EXPECT_TRUE(identical(plain.grads[i], got.grads[i])) << i << plain.grads[i] << got.grads[i];
      }
    }
}

// Gradients of what lies before an interior argument.
TEST(FunctionalizeArguments, LeadBackToTheLeafBehindThem) {
  const auto grad = [](bool functionalized, bool view_first) {
    const Tensor w = leaf({3});
    const Tensor x = w * 2, v = x.narrow(0, 0, 2);
    const auto run = [&](const Tensor& a, const Tensor& b) {
      (view_first ? a : b).mul_(3);
      return a.sum() + (b * b).sum();
    };
    const Tensor result = functionalized ? functionalize(run)(view_first ? v : x, view_first ? x : v)
                                         : run(view_first ? v : x, view_first ? x : v);
    (result + x.sum() + v.sum()).backward();  // as they are afterwards, too
    return w.grad();
  };
  for (const bool view_first : {false, true})
    EXPECT_TRUE(identical(grad(false, view_first), grad(true, view_first))) << view_first;
}

TEST(FunctionalizeArguments, ThatCantBeKnownFromEachOtherAreGoodUntilOneIsWritten) {
  const Tensor x = ones({3}), w = ones({3}).requires_grad_();
  const std::vector<std::pair<Tensor, Tensor>> kPairs = {
      {x, x.view(kInt)}, {w, w.detach().requires_grad_()}, {wrap<Wrapper>(x), wrap<Wrapper>(x)}, {x, wrap<Wrapper>(x)}};
  const NoGradGuard no_grad;
  for (const auto& [first, second] : kPairs)
    for (const bool reversed : {false, true}) {
      const Tensor &a = reversed ? second : first, &b = reversed ? first : second;
      const auto program = [](const Tensor& a, const Tensor& b) { return a.sum() + b.sum(); };
      EXPECT_EQ(functionalize(program)(a, b).item<double>(), program(a, b).item<double>());
      // Only one is used from then on: the other shows it outside.
      functionalize([](const Tensor& a, const Tensor& b) { return b.add(1).sum() + a.add_(1).sum(); })(a, b);
      const Tensor before = x.clone();
      EXPECT_THAT(errorOf([&] {
                    functionalize([](const Tensor& a, const Tensor& b) {
                      a.add_(1);
                      return b.clone();
                    })(a, b);
                  }),
                  testing::HasSubstr("shares memory with another argument"));
      EXPECT_THAT(errorOf([&] {
                    functionalize([](const Tensor& a, const Tensor& b) {
                      a.add_(1);
                      b.add_(1);
                    })(a, b);
                  }),
                  testing::HasSubstr("shares memory with another argument"));
      EXPECT_TRUE(identical(before, x)) << "arguments stay as they are when the function throws";
    }
  EXPECT_TRUE(identical(w.detach(), ones({3}).mul(3)));
}

TEST(FunctionalizeArguments, BecomeLeavesThatTheGraphReaches) {
  const std::vector<std::function<Tensor(const Tensor&)>> kPrograms = {
      [](const Tensor& w) {
        w.fill_(3);
        w.requires_grad_();
        return (w * w).sum();
      },
      [](const Tensor& w) {
        w.fill_(3);
        w.requires_grad_();
        w.register_hook([](const Tensor& g) { return g * 2; });
        return (w * w).sum();
      },
      [](const Tensor& w) {
        w.requires_grad_();
        w.requires_grad_(false);
        w.add_(1);
        w.requires_grad_(true);
        return (w * w).sum();
      },
      [](const Tensor& w) {
        w.fill_(3);
        w.requires_grad_();
        (w * 5).sum().backward();
        return (w * w).sum();
      },
  };
  for (size_t i = 0; i < kPrograms.size(); ++i) {
    const Tensor plain = iota({2, 3}).clone(), got = plain.clone();
    const Tensor expected = kPrograms[i](plain), result = functionalize(kPrograms[i])(got);
    for (int again = 0; again < 2; ++again) {
      expected.backward({}, true);
      result.backward({}, true);
      EXPECT_TRUE(got.is_leaf() && got.requires_grad()) << i;
      ASSERT_TRUE(got.grad().defined()) << i;
      EXPECT_TRUE(identical(plain.detach(), got.detach())) << i;
      EXPECT_TRUE(identical(plain.grad(), got.grad())) << i << plain.grad() << got.grad();
    }
  }
}

TEST(FunctionalizeArguments, HavePlainGrads) {
  const Tensor w = ones({3}).requires_grad_();
  functionalize([](const Tensor& w) {
    w.mutable_grad() = zeros_like(w);
    (w * w).sum().backward();
  })(w);
  EXPECT_FALSE(is_functional(w.grad()));
  EXPECT_TRUE(identical(w.grad(), ones({3}).mul(2)));
  errorOf([&] {
    functionalize([](const Tensor& w) {
      w.mutable_grad() = w.detach() * 3;
      SHUNT_CHECK(false, "no");
    })(w);
  });
  EXPECT_FALSE(is_functional(w.grad()));
}

// The function's own error comes out, though what the grad shows isn't known any more.
TEST(FunctionalizeArguments, LoseAGradThatCantBeKnownWhenTheFunctionThrows) {
  const Tensor w = ones({3}).requires_grad_(), bits = w.detach().view(kInt);
  const auto program = [](const Tensor& w, const Tensor& bits) {
    w.mutable_grad() = bits;
    const NoGradGuard no_grad;
    w.add_(1);
    SHUNT_CHECK(false, "the function's own");
  };
  EXPECT_THAT(errorOf([&] { functionalize(program)(w, bits); }), testing::HasSubstr("the function's own"));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_TRUE(identical(w.detach(), ones({3})));
}

TEST(FunctionalizeArguments, OfANestedCallAreTheCallersOwn) {
  const auto inner = functionalize([](const Tensor& x) {
    x.add_(1);
    return x.select(0, 0);
  });
  const auto outer = [&](const Tensor& x) {
    const Tensor row = inner(x);
    row.mul_(2);
    return x.sum();
  };
  const Tensor plain = ones({2, 2}), got = ones({2, 2});
  EXPECT_TRUE(identical(outer(plain), functionalize(outer)(got)));
  EXPECT_TRUE(identical(plain, got));
  EXPECT_THAT(errorOf([&] { inner(to_functional(got)); }), testing::HasSubstr("functional tensor already"));
}

TEST(FunctionalizeArguments, MadeInInferenceModeAreWritten) {
  std::optional<InferenceMode> mode(std::in_place);
  const Tensor x = ones({3});
  mode.reset();
  const Tensor a = ones({2});
  functionalize([](const Tensor& a, const Tensor& x) {
    a.add_(1);
    const InferenceMode inference;
    x.add_(1);
  })(a, x);
  EXPECT_TRUE(identical(a, ones({2}).mul(2)));
  EXPECT_TRUE(identical(x.clone(), ones({3}).mul(2)));
}

TEST(FunctionalizeAutograd, RetainsTheGradOfWhatIsChangedInPlace) {
  const auto grad = [](const Tensor& w) {
    Tensor y = w * 2;
    y.retain_grad();
    y.add_(1).mul_(w);
    (y * y).sum().backward();
    return y.grad().clone();
  };
  const Tensor w = leaf({3});
  EXPECT_TRUE(identical(grad(w), functionalize(grad)(w)));
}

TEST(FunctionalizeAutograd, ADetachedTensorWithMemoryOfItsOwnTakesAnything) {
  const auto step = [](const Tensor& w) {
    Tensor h = w * 2;
    for (int i = 0; i < 3; ++i) {
      h.detach_();
      h.mul_(w);
    }
    Tensor d = (w * 3).detach();
    return d.mul_(w).sum() + h.sum();
  };
  const Tensor w = leaf({3}), v = w.detach().clone().requires_grad_();
  step(w).backward();
  functionalize(step)(v).backward();
  EXPECT_TRUE(identical(w.grad(), v.grad()));
}

}  // namespace
}  // namespace shunt::test
