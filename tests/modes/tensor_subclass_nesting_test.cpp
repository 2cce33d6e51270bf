// Wrapper tensors together with modes, autograd, autocast and the rest, in both orders.
#include "tests/modes/tensor_subclass_util.h"

#include <thread>

namespace shunt {
namespace {

using test::errorOf;
using test::Logged;
using test::LogMode;
using test::Other;
using test::same;
using test::Subclasses;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Subclasses, InsideAModeTheModeSeesTheWrapper) {
  const Tensor x = wrap<Logged>(a);
  LogMode mode;
  mode.act = [&](const OperatorHandle& op, Stack* stack) {
    EXPECT_TRUE((*stack)[0].toTensor().is_same(x));
    op.callBoxed(stack);
  };
  Tensor y;
  {
    const DispatchModeGuard guard(mode);
    y = x.relu();
  }
  EXPECT_THAT(log(), ElementsAre("mode aten::relu", "Logged aten::relu"))
      << "what the class calls inside is below the mode";
  EXPECT_NE(wrapper_cast<Logged>(y), nullptr);
}

TEST_F(Subclasses, InsideTwoModesBothComeFirst) {
  struct Named : LogMode {
    explicit Named(std::string n) : n(std::move(n)) {}
    void handle(const OperatorHandle& op, Stack* stack) override {
      test::callLog().push_back(n + " " + op.operator_name().str());
      op.callBoxed(stack);
    }
    std::string n;
  } outer("outer"), inner("inner");
  const DispatchModeGuard one(outer), two(inner);
  wrap<Logged>(wrap<Other>(a)).neg();
  EXPECT_THAT(log(), ElementsAre("inner aten::neg", "outer aten::neg", "Logged aten::neg", "Other aten::neg"));
}

TEST_F(Subclasses, CallsOfAModesHandlerOnWrappersReachTheClass) {
  const Tensor x = wrap<Logged>(a);
  LogMode mode;
  mode.act = [&](const OperatorHandle& op, Stack* stack) {
    EXPECT_FALSE(isnan((*stack)[0].toTensor()).any().item<bool>());
    op.callBoxed(stack);
  };
  const DispatchModeGuard guard(mode);
  x.relu();
  EXPECT_THAT(log(), ElementsAre("mode aten::relu", "Logged aten::isnan", "Logged aten::any",
                                 "Logged aten::_local_scalar_dense", "Logged aten::relu"));
}

TEST_F(Subclasses, AModeMadeInAHandlerSeesTheInnerCalls) {
  struct Watched : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle& op, Stack* stack) override {
      LogMode mode;
      const DispatchModeGuard guard(mode);
      call_unwrapped<Watched>(op, stack);
    }
  };
  const Tensor y = wrap<Watched>(a) + wrap<Logged>(b);
  EXPECT_THAT(log(), ElementsAre("mode aten::add.Tensor", "Logged aten::add.Tensor"));
  EXPECT_TRUE(same(unwrap<Logged>(unwrap<Watched>(y)), a + b));
}

TEST_F(Subclasses, AModeMayAnswerInThePlaceOfTheClass) {
  LogMode mode;
  mode.act = [&](const OperatorHandle&, Stack* stack) { *stack = {b}; };
  const DispatchModeGuard guard(mode);
  EXPECT_TRUE(wrap<Logged>(a).exp().is_same(b));
  EXPECT_THAT(log(), ElementsAre("mode aten::exp"));
}

Tensor lossOf(const Tensor& x, const Tensor& w) { return (linear(x, w).relu() * 2).softmax(1).pow(2).sum(); }

TEST_F(Subclasses, GradientsAreThePlainOnes) {
  const Tensor plain = a.clone().requires_grad_(), weight = b.clone().requires_grad_();
  lossOf(plain, weight).backward();
  const Tensor x = wrap<Logged>(a.clone());
  const Tensor w = wrap<Logged>(b.clone().requires_grad_());
  EXPECT_FALSE(x.requires_grad());
  EXPECT_TRUE(x.requires_grad_().is_same(x));
  EXPECT_TRUE(x.requires_grad() && x.is_leaf() && w.requires_grad());
  EXPECT_TRUE(unwrap<Logged>(x).requires_grad());
  const Tensor loss = lossOf(x, w);
  ASSERT_TRUE(loss.grad_fn());
  EXPECT_EQ(loss.grad_fn()->name(), "SumBackward0");
  EXPECT_EQ(loss.grad_fn(), unwrap<Logged>(loss).grad_fn());
  EXPECT_FALSE(loss.is_leaf());
  log();
  loss.backward();
  EXPECT_THAT(log(), ElementsAre()) << "backward runs on plain tensors";
  EXPECT_TRUE(same(x.grad(), plain.grad()));
  EXPECT_TRUE(same(w.grad(), weight.grad()));
  EXPECT_EQ(wrapper_cast<Logged>(x.grad()), nullptr);
  EXPECT_TRUE(x.grad().is_same(unwrap<Logged>(x).grad()));
  x.mutable_grad().reset();
  EXPECT_FALSE(unwrap<Logged>(x).grad().defined());
}

TEST_F(Subclasses, GradAndItsArgumentsMayBeWrappers) {
  const Tensor x = wrap<Logged>(a.clone().requires_grad_());
  const Tensor y = x.exp();
  const auto grads = autograd::grad({y}, {x}, {wrap<Logged>(b)});
  EXPECT_TRUE(same(grads.at(0), a.exp() * b));
  const Tensor z = wrap<Logged>(a.clone().requires_grad_());
  z.mul(z).backward(b);
  EXPECT_TRUE(same(z.grad(), a * b + a * b));
  EXPECT_THAT(errorOf([&] { z.exp().backward(); }),
              HasSubstr("grad can be implicitly created only for scalar outputs"));
  EXPECT_THAT(errorOf([&] { wrap<Logged>(a).sum().backward(); }), HasSubstr("does not require grad"));
  EXPECT_THAT(errorOf([&] { autograd::grad({x.sum()}, {wrap<Logged>(b)}); }), HasSubstr("does not require grad"));
}

TEST_F(Subclasses, DoubleBackwardThroughWrappers) {
  const Tensor x = wrap<Logged>(a.clone().requires_grad_());
  const Tensor g = autograd::grad({x.pow(3).sum()}, {x}, {}, {}, true)[0];
  const Tensor gg = autograd::grad({g.sum()}, {x})[0];
  EXPECT_LT((gg - 6 * a).abs().max().item<float>(), 1e-4);
}

TEST_F(Subclasses, ModesSeeBackward) {
  const Tensor x = wrap<Logged>(a.clone().requires_grad_());
  const Tensor loss = x.relu().sum();
  LogMode mode;
  log();
  const DispatchModeGuard guard(mode);
  loss.backward();
  EXPECT_THAT(log(), testing::Contains("mode aten::threshold_backward"));
}

TEST_F(Subclasses, HooksAndRetainedGradsAreTheInnerTensors) {
  const Tensor x = wrap<Logged>(a.clone().requires_grad_());
  const Tensor y = x * 2;
  y.retain_grad();
  const unsigned id = x.register_hook([](const Tensor& g) { return g * 10; });
  y.sum().backward();
  EXPECT_TRUE(same(x.grad(), full({2, 3}, 20.)));
  EXPECT_TRUE(same(y.grad(), full({2, 3}, 1.)));
  x.remove_hook(id);
  (x * 2).sum().backward();
  EXPECT_TRUE(same(x.grad(), full({2, 3}, 22.)));
  EXPECT_EQ(y.output_nr(), 0);
  EXPECT_THAT(errorOf([&] { wrap<Logged>(a).register_hook([](const Tensor& g) { return g; }); }),
              HasSubstr("doesn't require gradient"));
}

TEST_F(Subclasses, NestedWrappersShareOneGraph) {
  const Tensor inner = a.clone();
  const Tensor x = wrap<Logged>(wrap<Other>(inner));
  x.requires_grad_();
  EXPECT_TRUE(inner.requires_grad());
  (x * x).sum().backward();
  EXPECT_TRUE(same(x.grad(), inner.grad()));
  EXPECT_TRUE(same(x.grad(), 2 * a));
}

TEST_F(Subclasses, ViewsInPlaceAndDetachWithAutograd) {
  const Tensor leaf = wrap<Logged>(a.clone().requires_grad_());
  Tensor x = leaf.clone();
  Tensor row = x.select(0, 0);
  EXPECT_TRUE(row.is_view());
  EXPECT_TRUE(row._base().is_same(unwrap<Logged>(x)));
  row.mul_(3);
  EXPECT_EQ(row.grad_fn()->name(), "AsStridedBackward0");
  x.sum().backward();
  EXPECT_EQ(leaf.grad()[0][0].item<float>(), 3);
  EXPECT_EQ(leaf.grad()[1][0].item<float>(), 1);
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_FALSE(x.data().requires_grad());
  Tensor again = leaf;
  EXPECT_THAT(errorOf([&] { again.add_(1); }), HasSubstr("leaf Variable that requires grad"));
  Tensor y = leaf.exp();
  const Tensor z = y * y;
  y.add_(1);
  EXPECT_THAT(errorOf([&] { z.sum().backward(); }), HasSubstr("modified by an inplace operation"));
}

TEST_F(Subclasses, TrainAsPlainTensors) {
  const auto train = [&](Tensor w) {
    for (int i = 0; i < 3; ++i) {
      linear(a, w).pow(2).sum().backward();
      const NoGradGuard no_grad;
      w.sub_(w.grad() * 0.1);
      w.mutable_grad().reset();
    }
    return w;
  };
  const Tensor plain = train(b.clone().requires_grad_());
  const Tensor wrapped = train(wrap<Logged>(b.clone().requires_grad_()));
  EXPECT_TRUE(same(unwrap<Logged>(wrapped), plain));
}

TEST_F(Subclasses, NoGradAndInferenceModeReachTheInnerCalls) {
  const Tensor x = wrap<Logged>(a.clone().requires_grad_());
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE(x.relu().requires_grad());
  }
  Tensor made;
  {
    const InferenceMode inference;
    made = x.relu();
    EXPECT_TRUE(made.is_inference());
    EXPECT_TRUE(unwrap<Logged>(made).is_inference());
    EXPECT_THAT(errorOf([&] { made._version(); }), HasSubstr("do not track version counter"));
  }
  EXPECT_THAT(errorOf([&] { made.add_(1); }), HasSubstr("Inplace update to inference tensor"));
  struct NoGrad : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle& op, Stack* stack) override {
      const NoGradGuard no_grad;
      call_unwrapped<NoGrad>(op, stack);
    }
  };
  EXPECT_FALSE(wrap<NoGrad>(a.clone().requires_grad_()).relu().requires_grad());
}

TEST_F(Subclasses, AutocastCastsInside) {
  const Tensor x = wrap<Logged>(a), w = wrap<Logged>(b.clone().requires_grad_());
  Tensor y;
  {
    const AutocastGuard autocast(kCPU);
    y = linear(x, w);
    EXPECT_EQ(y.dtype(), kBFloat16);
    EXPECT_EQ(autocast::cache_stats().entries, 1u) << "the inner weight's cast is kept";
    EXPECT_TRUE(same(unwrap<Logged>(y), linear(a, b)));
  }
  y.sum().backward();
  EXPECT_EQ(w.grad().dtype(), kFloat);
}

TEST_F(Subclasses, CustomFunctionsWantPlainTensors) {
  struct Twice : autograd::Function<Twice> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& t) { return t * 2; }
    static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) {
      return {g[0] * 2};
    }
  };
  EXPECT_TRUE(same(unwrap<Logged>(Twice::apply(wrap<Logged>(a))), a * 2)) << "nothing to record";
  const Tensor x = wrap<Logged>(a.clone().requires_grad_());
  EXPECT_THAT(errorOf([&] { Twice::apply(x); }),
              AllOf(HasSubstr("Twice"), HasSubstr("a wrapper tensor that requires grad")));
  const Tensor y = wrap<Logged>(Twice::apply(unwrap<Logged>(x)));
  y.sum().backward();
  EXPECT_TRUE(same(x.grad(), full({2, 3}, 2.)));
}

TEST_F(Subclasses, OperatorsWithoutDerivativeSayItAsEver) {
  Library def(Library::Kind::kFragment, "subclasses");
  def.def("opaque(Tensor x) -> Tensor");
  def.impl("opaque", DispatchKey::CPU, [](const Tensor& t) { return t.clone(); });
  const auto op = Dispatcher::singleton().findSchemaOrThrow("subclasses::opaque", "").typed<Tensor(const Tensor&)>();
  const Tensor y = op.call(wrap<Logged>(a.clone().requires_grad_()));
  EXPECT_TRUE(y.requires_grad());
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("derivative for subclasses::opaque is not implemented"));
}

TEST_F(Subclasses, OtherThreadsHandleTheirOwn) {
  const Tensor x = wrap<Logged>(a);
  LogMode mode;
  const DispatchModeGuard guard(mode);
  std::thread([&] { x.relu(); }).join();
  EXPECT_THAT(log(), ElementsAre("Logged aten::relu"));
}

TEST_F(Subclasses, LeaveNothingAlive) {
  weak_intrusive_ptr<TensorImpl> inner, wrapper;
  {
    const Tensor leaf = a.clone().requires_grad_();
    const Tensor x = wrap<Logged>(leaf);
    inner = weak_intrusive_ptr<TensorImpl>(leaf.getIntrusivePtr());
    wrapper = weak_intrusive_ptr<TensorImpl>(x.getIntrusivePtr());
    Tensor y = x.exp();
    y.retain_grad();
    y.sum().backward();
  }
  EXPECT_TRUE(inner.expired());
  EXPECT_TRUE(wrapper.expired());
}

}  // namespace
}  // namespace shunt
