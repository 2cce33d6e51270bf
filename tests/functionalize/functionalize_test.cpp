// Programs with writes and views, plain and functionalized.
#include "tests/functionalize/util.h"

namespace shunt::test {
namespace {

using List = std::vector<Tensor>;

TEST(Functionalize, ToAndFrom) {
  const Tensor x = iota({2, 3});
  const Tensor f = to_functional(x);
  EXPECT_TRUE(is_functional(f));
  EXPECT_FALSE(is_functional(x));
  EXPECT_EQ(f.sizes(), x.sizes());
  EXPECT_EQ(f.strides(), x.strides());
  EXPECT_EQ(f.dtype(), kFloat);
  EXPECT_EQ(f.device(), x.device());
  EXPECT_TRUE(from_functional(f).is_same(x));
}

TEST(Functionalize, InPlaceLeavesTheValueAlone) {
  const Tensor x = iota({4});
  const Tensor f = to_functional(x);
  Tensor handle = f;
  Tensor& returned = handle.add_(1);
  EXPECT_TRUE(returned.is_same(f));
  EXPECT_TRUE(identical(x, iota({4})));
  EXPECT_TRUE(identical(from_functional(f), iota({4}).add(1)));
}

TEST(Functionalize, AliasesSeeEachOther) {
  expectSameProgram({iota({2, 3})}, [](const List& in) {
    const Tensor x = in[0];
    const Tensor row = x[1], column = x.select(1, 0), t = x.t(), all = x.view({6});
    row.mul_(2);
    column.add_(10);
    t.slice(0, 1, 3).sub_(1);
    return List{row.clone(), column.clone(), t.clone(), all.clone(), x.sum()};
  });
}

TEST(Functionalize, UpdatesGoThroughLongChains) {
  expectSameProgram({iota({4, 6})}, [](const List& in) {
    const Tensor v = in[0].t().slice(0, 1, 5).unsqueeze(0).permute({2, 0, 1}).select(0, 2);
    v.add_(100);
    v.squeeze(0).narrow(0, 0, 2).zero_();
    return List{v.clone()};
  });
}

TEST(Functionalize, DiagonalAndStrided) {
  expectSameProgram({iota({4, 4})}, [](const List& in) {
    in[0].diagonal(1).fill_(-1);
    in[0].as_strided({2, 2}, {4, 2}, 1).mul_(3);
    return List{in[0].diagonal().clone()};
  });
}

TEST(Functionalize, SeveralViewsOfOneOperator) {
  expectSameProgram({iota({4, 3})}, [](const List& in) {
    const NoGradGuard no_grad;
    const List parts = in[0].split(2), rows = in[0].unbind(), chunks = in[0].chunk(2, 1);
    parts[1].add_(1);
    rows[0].mul_(2);
    chunks[1].sub_(5);
    return List{parts[0].clone(), rows[3].clone(), chunks[0].clone()};
  });
}

TEST(Functionalize, ReshapeIsAViewWhereItCanBe) {
  expectSameProgram({iota({2, 6})}, [](const List& in) {
    in[0].reshape({3, 4}).add_(1);      // a view
    in[0].t().reshape({12}).add_(100);  // a copy
    in[0].contiguous().add_(1);         // the tensor itself
    in[0].t().contiguous().add_(100);   // a copy
    in[0].to(kFloat).add_(1);           // the tensor itself
    in[0].to(kDouble).add_(100);        // a copy
    in[0].expand({3, 2, 6})[1].add_(1);
    return List{in[0].flatten()};
  });
}

TEST(Functionalize, ViewsOfAnotherDtype) {
  expectSameProgram({iota({2, 4})}, [](const List& in) {
    const Tensor bits = in[0].view(kInt);
    bits[1].zero_();
    bits.select(1, 2).view(kFloat).fill_(2);
    return List{bits.clone(), in[0].clone()};
  });
}

TEST(Functionalize, DtypeOfTheWrittenTensorStays) {
  expectSameProgram({iota({4}).to(kHalf), iota({4}).add(0.3)}, [](const List& in) {
    in[0].add_(in[1]);
    in[0].mul_(in[0]);
    return List{in[0].clone()};
  });
}

TEST(Functionalize, BroadcastsTheOther) {
  expectSameProgram({iota({3, 4}), iota({4}), iota({3, 1})}, [](const List& in) {
    in[0].add_(in[1]);
    in[0].copy_(in[2]);
    in[0][1].copy_(in[1]);
    return List{in[0].clone()};
  });
}

TEST(Functionalize, TheSameTensorTwice) {
  expectSameProgram({iota({4})}, [](const List& in) {
    in[0].mul_(in[0]);
    in[0].slice(0, 1).add_(in[0].slice(0, 0, 3).clone());
    return List{in[0].add(in[0])};
  });
}

TEST(Functionalize, OutArguments) {
  expectSameProgram({iota({3}), iota({3}), iota({3, 2})}, [](const List& in) {
    Tensor out = in[1];
    add_out(out, in[0], in[0]);
    Tensor column = in[2].select(1, 0);
    mul_out(column, in[0], in[1]);
    Tensor fresh = empty({0});
    sub_out(fresh, in[0], in[1]);
    return List{fresh, column.clone()};
  });
}

TEST(Functionalize, OutGrowsAndAliasesStay) {
  expectSameProgram({iota({2}), iota({3, 2})}, [](const List& in) {
    Tensor out = in[0];
    const Tensor before = out.view({2});
    Tensor resized = out.clone();
    resized.resize_({0});
    sum_out(resized, in[1], {1});
    return List{resized, before.clone()};
  });
}

// Where no dtype is given; the sums differ in their last bits. Without dims the form with out= is another's copy.
TEST(Functionalize, ReductionsComputeInTheDtypeOfOut) {
  expectSameProgram({full({1, 3}, 0x1p24)}, [](const List& in) {
    Tensor wide = empty({1}, kDouble), narrow = empty({1}, kByte), composite = empty({}, kDouble);
    const Tensor addends = in[0] + iota({1, 3});
    sum_out(wide, addends.slice(1, 0, 2), {1});
    sum_out(narrow, addends, {1});
    sum_out(composite, addends.slice(1, 0, 2));
    return List{wide, narrow, composite};
  });
}

TEST(Functionalize, SeveralOutArguments) {
  expectSameProgram({iota({3, 2})}, [](const List& in) {
    Tensor values = empty({3}), indices = empty({3}, kLong);
    max_out(values, indices, in[0], 1);
    return List{values, indices};
  });
}

TEST(Functionalize, InPlaceViewOperators) {
  expectSameProgram({iota({2, 3})}, [](const List& in) {
    Tensor x = in[0].clone();
    const Tensor alias = x.view({6});
    x.t_();
    x.unsqueeze_(0);
    x.squeeze_();
    x.transpose_(0, 1);
    x[0].add_(10);
    Tensor y = in[0].clone();
    y.as_strided_({2}, {2}, 1);
    y.zero_();
    return List{x.clone(), alias.clone(), y.clone()};
  });
}

TEST(Functionalize, InputsMayChangeTheirShape) {
  Tensor x = iota({2, 3});
  functionalize([](Tensor t) {
    t.t_();
    t.add_(1);
  })(x);
  EXPECT_THAT(x.sizes().vec(), testing::ElementsAre(3, 2));
  EXPECT_TRUE(identical(x, iota({2, 3}).add(1).t()));
}

TEST(Functionalize, Resize) {
  expectSameProgram({iota({6})}, [](const List& in) {
    Tensor x = in[0].clone();
    const Tensor alias = x.view({6});
    x.resize_({2, 2});
    x.add_(100);
    x.resize_({6});
    x.resize_({8});
    x.slice(0, 6).zero_();
    alias.mul_(2);
    return List{x.clone(), alias.clone()};
  });
}

TEST(Functionalize, ReadmeExampleWorks) {
  const Tensor x = to_functional(zeros({2, 2}));
  x[0].add_(1);
  EXPECT_TRUE(identical(from_functional(x), zeros({2, 2}).index_add(0, zeros({1}, kLong), ones({1, 2}))));
}

TEST(Functionalize, RandomNumbersAreThePlainOnes) {
  const auto program = [](const List& in) {
    manual_seed(7);
    in[0].uniform_();
    in[1].normal_(1, 2);
    in[2].random_(10);
    in[0][1].bernoulli_(0.5);
    return List{rand({3}), in[0].clone()};
  };
  expectSameProgram({iota({2, 3}), iota({5}), iota({4})}, program);
}

TEST(Functionalize, FactoriesInsideAreFunctional) {
  const FunctionalizeGuard guard;
  EXPECT_TRUE(FunctionalizeGuard::is_enabled());
  const Tensor z = zeros({2, 2}), r = randn({3}), a = arange(4);
  EXPECT_TRUE(is_functional(z) && is_functional(r) && is_functional(a));
  z[0].add_(1);
  EXPECT_EQ(z.sum().item<float>(), 2);
}

TEST(Functionalize, PlainTensorsAreConstants) {
  Tensor constant = iota({3});
  const Tensor expected = iota({3}).add(1);
  const Tensor sum = functionalize([&](const Tensor& x) { return x.add(constant); })(iota({3}));
  EXPECT_TRUE(identical(sum, iota({3}).mul(2)));
  const FunctionalizeGuard guard;
  EXPECT_FALSE(is_functional(constant.add(1)));
  constant.add_(1);  // nothing functional takes part
  EXPECT_TRUE(identical(constant, expected));
}

TEST(Functionalize, InputsThatShareMemory) {
  const auto run = [](const auto& call) {
    Tensor storage = iota({6});
    const Tensor left = storage.slice(0, 0, 4), right = storage.slice(0, 2, 6);
    call(left, right, left);
    return storage;
  };
  const auto program = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    a.add_(10);
    b.mul_(2);
    c.sub_(1);
  };
  EXPECT_TRUE(identical(run(program), run(functionalize(program))));
}

TEST(Functionalize, ResultsAliasInputsAsInPlainPrograms) {
  Tensor x = iota({2, 3});
  const auto [same, row, copy] = functionalize([](const Tensor& t) { return std::tuple(t, t[0], t.add(0)); })(x);
  EXPECT_TRUE(same.is_same(x));
  EXPECT_TRUE(row.is_alias_of(x));
  EXPECT_FALSE(copy.is_alias_of(x));
  row.fill_(5);
  EXPECT_EQ(x[0][2].item<float>(), 5);
}

TEST(Functionalize, InputsStayWhenItThrows) {
  const Tensor x = iota({3});
  const auto f = functionalize([](const Tensor& t) {
    t.add_(1);
    t.add_(ones({2}));
  });
  EXPECT_NE(errorOf([&] { f(x); }), "no error");
  EXPECT_TRUE(identical(x, iota({3})));
  EXPECT_FALSE(FunctionalizeGuard::is_enabled());
}

TEST(Functionalize, ModesSeeTheProgramAsItIs) {
  struct Names : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      names.push_back(op.operator_name().str());
      op.callBoxed(stack);
    }
    std::vector<std::string> names;
  } mode;
  const Tensor x = to_functional(iota({3}));
  const DispatchModeGuard guard(mode);
  x.add_(1);
  x.view({3, 1});
  EXPECT_THAT(mode.names, testing::ElementsAre("aten::add_.Scalar", "aten::view"));
}

TEST(Functionalize, InferenceMode) {
  expectSameProgram({iota({2, 2})}, [](const List& in) {
    const InferenceMode inference;
    const Tensor x = in[0].add(1);
    x[0].mul_(3);
    return List{x};
  });
}

TEST(Functionalize, Autocast) {
  expectSameProgram({randn({8, 8}), randn({8, 8}), zeros({8, 8})}, [](const List& in) {
    const AutocastGuard autocast(kCPU);
    const Tensor product = in[0].mm(in[1]);
    in[2].addmm_(in[0], in[1]);  // in-place forms are not cast
    return List{product, in[2].clone()};
  });
}

TEST(Functionalize, CustomOperators) {
  Library lib(Library::Kind::kDef, "functionalize_test");
  lib.def("twice(Tensor self) -> Tensor", [](const Tensor& self) { return self.mul(2); });
  lib.def("twice_(Tensor(a!) self) -> Tensor(a!)", [](Tensor& self) -> Tensor& { return self.mul_(2); });
  lib.def("head(Tensor(a) self) -> Tensor(a)", [](const Tensor& self) { return self.slice(0, 0, 2); });
  const auto twice_ = Dispatcher::singleton().findSchemaOrThrow("functionalize_test::twice_").typed<Tensor&(Tensor&)>();
  const auto head =
      Dispatcher::singleton().findSchemaOrThrow("functionalize_test::head").typed<Tensor(const Tensor&)>();
  expectSameProgram({iota({4})}, [&](const List& in) {
    Tensor view = head.call(in[0]);
    twice_.call(view);
    return List{view.clone()};
  });
}

}  // namespace
}  // namespace shunt::test
