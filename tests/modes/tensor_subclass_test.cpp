// Wrapper tensors: what their class gets to see, what comes back, and that nothing gets at data that they don't have.
#include "tests/modes/tensor_subclass_util.h"

namespace shunt {
namespace {

using test::errorOf;
using test::Logged;
using test::Other;
using test::same;
using test::Subclasses;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Subclasses, HandleOperatorsAndWrapResults) {
  const Tensor x = wrap<Logged>(a);
  const Tensor y = (x + 1).relu();
  ASSERT_NE(wrapper_cast<Logged>(y), nullptr);
  EXPECT_THAT(log(), ElementsAre("Logged aten::add.Scalar", "Logged aten::relu"));
  EXPECT_TRUE(same(unwrap<Logged>(y), (a + 1).relu()));
  EXPECT_EQ(wrapper_cast<Other>(y), nullptr);
  EXPECT_EQ(wrapper_cast<Logged>(a), nullptr);
  EXPECT_EQ(wrapper_cast<Logged>(Tensor()), nullptr);
  EXPECT_TRUE(unwrap<Logged>(a).is_same(a));
}

TEST_F(Subclasses, LookLikeTheirInnerTensor) {
  const Tensor inner = a.t();
  const Tensor x = wrap<Logged>(inner);
  EXPECT_EQ(x.sizes(), inner.sizes());
  EXPECT_EQ(x.strides(), inner.strides());
  EXPECT_EQ(x.dtype(), kFloat);
  EXPECT_EQ(x.device(), a.device());
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x.is_inference(), false);
  EXPECT_EQ(wrap<Logged>(a.to(kDouble)).dtype(), kDouble);
  EXPECT_TRUE(x.key_set().backends().empty());
}

TEST_F(Subclasses, CompositesAreOneCall) {
  const Tensor x = wrap<Logged>(a);
  const Tensor y = linear(x, b);
  EXPECT_THAT(log(), ElementsAre("Logged aten::linear"));
  EXPECT_TRUE(same(unwrap<Logged>(y), linear(a, b)));
}

TEST_F(Subclasses, AnyArgumentBringsTheCall) {
  const Tensor x = wrap<Logged>(a);
  EXPECT_NE(wrapper_cast<Logged>(b + x), nullptr) << "not the first";
  EXPECT_NE(wrapper_cast<Logged>(cat({b, x})), nullptr) << "in a list";
  EXPECT_NE(wrapper_cast<Logged>(linear(b, b, wrap<Logged>(randn({2})))), nullptr) << "optional";
  EXPECT_EQ(log().size(), 3u);
  const std::vector<Tensor> parts = x.split(1);
  ASSERT_EQ(parts.size(), 2u);
  for (const Tensor& p : parts) EXPECT_NE(wrapper_cast<Logged>(p), nullptr);
  EXPECT_TRUE(same(unwrap<Logged>(stack(parts)), stack(a.split(1))));
  const auto [values, indices] = x.max(1);
  EXPECT_EQ(unwrap<Logged>(indices).dtype(), kLong);
  EXPECT_NE(wrapper_cast<Logged>(indices), nullptr);
}

TEST_F(Subclasses, InPlaceAndOutReturnTheGivenWrapper) {
  Tensor x = wrap<Logged>(a.clone());
  EXPECT_TRUE(x.add_(1).is_same(x));
  EXPECT_TRUE(same(unwrap<Logged>(x), a + 1));
  Tensor out = wrap<Logged>(empty({0}));
  EXPECT_TRUE(add_out(out, x, b).is_same(out));
  EXPECT_EQ(out.sizes(), a.sizes()) << "resized as its inner tensor";
  EXPECT_TRUE(same(unwrap<Logged>(out), a + 1 + b));
  x.t_();
  EXPECT_THAT(x.sizes().vec(), ElementsAre(3, 2));
  EXPECT_THAT(x.strides().vec(), ElementsAre(1, 3));
  Tensor plain = b.clone();
  EXPECT_TRUE(plain.mul_(x.t()).is_same(plain)) << "a plain tensor that a wrapper is written into stays one";
  EXPECT_TRUE(same(plain, b * (a + 1)));
}

TEST_F(Subclasses, AnInPlaceCallOnTwoWrappersOfOneTensorReturnsTheWrittenOne) {
  const Tensor inner = a.clone();
  Tensor x = wrap<Logged>(inner), y = wrap<Logged>(inner);
  EXPECT_TRUE(x.add_(y).is_same(x));
  Tensor out = wrap<Logged>(inner);
  EXPECT_TRUE(add_out(out, x, y).is_same(out));
}

TEST_F(Subclasses, ViewsAliasTheirBase) {
  Tensor x = wrap<Logged>(a.clone());
  Tensor row = x.select(0, 1);
  EXPECT_THAT(row.sizes().vec(), ElementsAre(3));
  EXPECT_EQ(row.storage_offset(), 3);
  EXPECT_TRUE(row.is_alias_of(x));
  EXPECT_FALSE((x + 1).is_alias_of(x));
  row.zero_();
  EXPECT_EQ(unwrap<Logged>(x).abs().sum({1})[1].item<float>(), 0);
  EXPECT_EQ(x._version(), 1);
  EXPECT_EQ(x._version(), row._version());
  EXPECT_EQ(x._version(), unwrap<Logged>(x)._version());
  const Tensor once = x.contiguous();
  EXPECT_TRUE(once.is_same(x)) << "an operator that had nothing to do returns its argument";
}

TEST_F(Subclasses, ItemIsAnOperator) {
  EXPECT_EQ(wrap<Logged>(full({1}, 2.5)).item<double>(), 2.5);
  EXPECT_THAT(log(), ElementsAre("Logged aten::_local_scalar_dense"));
  EXPECT_THAT(errorOf([&] { wrap<Logged>(a).item(); }), HasSubstr("6 elements"));
}

TEST_F(Subclasses, PrintingNamesTheClass) {
  EXPECT_EQ(wrap<Logged>(ones({2})).toString(), "Logged(tensor([1., 1.]))");
  struct Opaque : TensorSubclass {
    Opaque() : TensorSubclass({2, 3}, kDouble) {}
    void handle(const OperatorHandle&, Stack*) override {}
  };
  EXPECT_THAT(wrap<Opaque>().toString(), AllOf(HasSubstr("Opaque"), HasSubstr("[2, 3]"), HasSubstr("Double")));
}

TEST_F(Subclasses, HaveNoData) {
  const Tensor x = wrap<Logged>(a);
  EXPECT_THAT(errorOf([&] { x.data_ptr(); }), HasSubstr("unwrap it"));
  EXPECT_THAT(errorOf([&] { x.data_ptr<float>(); }), HasSubstr("unwrap it"));
  EXPECT_THAT(errorOf([&] { toDLPack(x); }), HasSubstr("unwrap it"));
  EXPECT_THAT(errorOf([&] { x.set_data(a); }), HasSubstr("set_data: not for wrapper tensors"));
  EXPECT_THAT(errorOf([&] { wrap<Logged>(Tensor()); }), HasSubstr("the inner tensor is undefined"));
}

TEST_F(Subclasses, NoKernelMeetsThem) {
  const Tensor x = wrap<Logged>(a);
  const ExcludeDispatchKeyGuard guard(DispatchKey::Python);
  EXPECT_THAT(errorOf([&] { x + b; }),
              AllOf(HasSubstr("aten::add.Tensor"), HasSubstr("self is a Logged"), HasSubstr("Python is excluded")));
  EXPECT_THAT(errorOf([&] { b + x; }), HasSubstr("other is a Logged"));
  EXPECT_THAT(errorOf([&] { cat({b, x}); }), HasSubstr("tensors is a Logged"));
  EXPECT_THAT(errorOf([&] { Tensor(b).add_(x); }), HasSubstr("other is a Logged"));
}

TEST_F(Subclasses, ARedispatchBelowTheClassIsAClearError) {
  Library def(Library::Kind::kFragment, "subclasses");
  def.def("twice(Tensor x) -> Tensor", [](const Tensor& t) { return t + t; });
  const auto op = Dispatcher::singleton().findSchemaOrThrow("subclasses::twice", "").typed<Tensor(const Tensor&)>();
  const Tensor x = wrap<Logged>(a);
  EXPECT_TRUE(same(unwrap<Logged>(op.call(x)), a + a));
  EXPECT_THAT(log(), ElementsAre("Logged subclasses::twice"));
  EXPECT_THAT(errorOf([&] { op.redispatch(x.key_set() & DispatchKeySet::fullAfter(DispatchKey::Python), x); }),
              HasSubstr("x is a Logged"));
  // A kernel for the key itself comes before the class.
  Library own(Library::Kind::kImpl, "subclasses", DispatchKey::Python);
  own.impl("twice", [](const Tensor& t) { return t; });
  EXPECT_TRUE(op.call(x).is_same(x));
}

TEST_F(Subclasses, TheFirstClassThatAcceptsHandles) {
  struct Modest : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    bool accepts(const OperatorHandle& op, const Stack&) const override {
      return op.operator_name().name != "aten::mul";
    }
    void handle(const OperatorHandle& op, Stack* stack) override {
      test::callLog().push_back("Modest " + op.operator_name().str());
      call_unwrapped<Modest>(op, stack);
    }
  };
  const Tensor x = wrap<Modest>(a), y = wrap<Logged>(b);
  x + y;
  EXPECT_THAT(log(), ElementsAre("Modest aten::add.Tensor", "Logged aten::add.Tensor"))
      << "left to right, each unwraps its own";
  struct Eager : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle& op, Stack* stack) override {
      test::callLog().push_back("Eager " + op.operator_name().str());
      mapTensors(*stack, stack->size(), [](const Tensor& t) { return unwrap<Modest>(unwrap<Eager>(t)); });
      op.callBoxed(stack);
    }
  };
  EXPECT_TRUE(same(x * wrap<Eager>(b), a * b));
  EXPECT_THAT(log(), ElementsAre("Eager aten::mul.Tensor"));
  EXPECT_THAT(errorOf([&] { x* x; }),
              AllOf(HasSubstr("aten::mul.Tensor"), HasSubstr("self is a "), HasSubstr("declined")));
}

TEST_F(Subclasses, NestAsWrappersOfWrappers) {
  const Tensor x = wrap<Logged>(wrap<Other>(a));
  const Tensor y = x * 2;
  EXPECT_THAT(log(), ElementsAre("Logged aten::mul.Scalar", "Other aten::mul.Scalar"));
  ASSERT_NE(wrapper_cast<Logged>(y), nullptr);
  ASSERT_NE(wrapper_cast<Other>(unwrap<Logged>(y)), nullptr);
  EXPECT_TRUE(same(unwrap<Other>(unwrap<Logged>(y)), a * 2));
  EXPECT_THAT(y.toString(), testing::StartsWith("Logged(Other(tensor("));
  EXPECT_EQ(x.sum().item<float>(), a.sum().item<float>());
}

TEST_F(Subclasses, HandlersThatNeverUnwrapAreAClearError) {
  struct Loop : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
  };
  const Tensor x = wrap<Loop>(a);
  EXPECT_THAT(errorOf([&] { x.relu(); }),
              AllOf(HasSubstr("aten::relu"), HasSubstr("Loop"), HasSubstr("unwrap them first")));
  EXPECT_TRUE(same(unwrap<Logged>(wrap<Logged>(a).relu()), a.relu())) << "and nothing stays behind";
}

TEST_F(Subclasses, ExceptionsPassThroughHandlers) {
  const Tensor x = wrap<Logged>(a);
  EXPECT_THAT(errorOf([&] { x.mm(b); }), HasSubstr("mm"));
  struct Refuses : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle&, Stack*) override { throw std::runtime_error("its own"); }
  };
  EXPECT_THROW(wrap<Refuses>(a).relu(), std::runtime_error);
  EXPECT_TRUE(same(unwrap<Logged>(x.relu()), a.relu()));
}

TEST_F(Subclasses, ClassesWithoutAnInnerTensorHandleAllThemselves) {
  struct Zeros : TensorSubclass {
    Zeros(IntArrayRef sizes, const TensorOptions& options) : TensorSubclass(sizes, options) {}
    void handle(const OperatorHandle& op, Stack* stack) override {
      if (op.operator_name().name == "aten::relu")
        *stack = {wrap<Zeros>(sizes(), TensorOptions(dtype()))};
      else
        call_unwrapped<Zeros>(op, stack, [](const Tensor& t) { return t; });
    }
  };
  const Tensor x = wrap<Zeros>(IntArrayRef({1000000, 1000000}), TensorOptions(kHalf));
  EXPECT_EQ(x.numel(), 1000000000000);
  EXPECT_EQ(x.relu().dtype(), kHalf);
  EXPECT_THAT(errorOf([&] { x.neg(); }),
              AllOf(HasSubstr("aten::neg"), HasSubstr("self is a "), HasSubstr("without an inner tensor")));
  EXPECT_THAT(errorOf([&] { x.requires_grad_(); }), HasSubstr("without a graph tensor"));
  EXPECT_FALSE(x.requires_grad());
  EXPECT_TRUE(x.is_leaf());
}

TEST_F(Subclasses, MoveAndConvertAsOperators) {
  const Tensor x = wrap<Logged>(a);
  const Tensor meta = x.to(TensorOptions(Device(kMeta)));
  ASSERT_NE(wrapper_cast<Logged>(meta), nullptr);
  EXPECT_TRUE(meta.is_meta());
  EXPECT_EQ(x.to(kDouble).dtype(), kDouble);
  EXPECT_TRUE(x.to(kFloat).is_same(x));
  EXPECT_FALSE(x.clone().is_alias_of(x));
  EXPECT_TRUE(x.data().is_alias_of(x));
}

}  // namespace
}  // namespace shunt
