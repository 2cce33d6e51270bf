// Fake tensors one by one: what they are made of, what they share, and what they refuse.
#include <shunt/core/library.h>
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace shunt {
namespace {

using test::errorOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const TensorOptions kOnCuda = TensorOptions().device(kCUDA);

TEST(FakeTensor, FactoriesOfTheModeMakeThemOnTheDeviceTheyAreGiven) {
  const FakeTensorMode mode;
  const Tensor of_numbers = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  for (const Tensor& t : {empty({2, 3}), zeros({2, 3}), full({2, 3}, 7.0), rand({2, 3}), randn({2, 3}), of_numbers}) {
    EXPECT_TRUE(is_fake(t));
    EXPECT_EQ(t.sizes(), IntArrayRef({2, 3}));
    EXPECT_EQ(t.device(), Device(kCPU));
    EXPECT_EQ(t.dtype(), kFloat);
    EXPECT_EQ(t.storage()->data(), nullptr);
    EXPECT_EQ(t.storage()->nbytes(), 24u);
  }
  EXPECT_EQ(empty({2}, kOnCuda).device(), Device(kCUDA, 0));
  EXPECT_EQ(arange(0, 10, 1, TensorOptions(kLong).device(Device(kCUDA, 1))).device(), Device(kCUDA, 1));
  EXPECT_TRUE(is_fake(empty({2}, TensorOptions().device(kMeta))));
  EXPECT_TRUE(eye(3).is_contiguous());
}

TEST(FakeTensor, TheModeEndsWithItsScope) {
  {
    const FakeTensorMode mode;
    EXPECT_TRUE(FakeTensorMode::is_enabled());
    {
      const FakeTensorMode inner;
      EXPECT_TRUE(is_fake(ones({2})));
    }
    EXPECT_TRUE(is_fake(ones({2})));
  }
  EXPECT_FALSE(FakeTensorMode::is_enabled());
  EXPECT_FALSE(is_fake(ones({2})));
  EXPECT_FALSE(is_fake(Tensor()));
}

TEST(FakeTensor, HasTheKeysOfARealTensorOfItsDevice) {
  EXPECT_EQ(to_fake(ones({2})).key_set(), ones({2}).key_set().add(DispatchKey::Fake));
  const FakeTensorMode mode;
  const Tensor x = empty({2}, kOnCuda).requires_grad_();
  EXPECT_TRUE(x.key_set().has(DispatchKey::CUDA));
  EXPECT_TRUE(x.key_set().has(DispatchKey::AutogradCUDA));
  EXPECT_TRUE(x.key_set().has(DispatchKey::AutocastCUDA));
}

TEST(FakeTensor, IsMadeOfARealOneWithItsGeometryAndAliases) {
  const Tensor base = randn({4, 6}), view = base.slice(1, 1, 5).t(), alias = base.detach();
  FakeTensorConverter converter;
  const Tensor fake_view = converter.from_tensor(view), fake_base = converter.from_tensor(base),
               fake_alias = converter.from_tensor(alias);
  EXPECT_EQ(fake_view.sizes(), view.sizes());
  EXPECT_EQ(fake_view.strides(), view.strides());
  EXPECT_EQ(fake_view.storage_offset(), 1);
  EXPECT_TRUE(fake_view.is_alias_of(fake_base));
  EXPECT_TRUE(fake_alias.is_alias_of(fake_base));
  EXPECT_TRUE(fake_view.is_view());
  EXPECT_TRUE(fake_view._base().is_same(fake_base));
  EXPECT_TRUE(converter.from_tensor(base).is_same(fake_base));
  EXPECT_FALSE(to_fake(base).is_alias_of(fake_base));
  EXPECT_TRUE(converter.from_tensor(fake_base).is_same(fake_base));
  EXPECT_FALSE(converter.from_tensor(Tensor()).defined());
}

TEST(FakeTensor, TakesOverWhetherItRequiresGradAndItsGrad) {
  const Tensor leaf = randn({3}).requires_grad_();
  (leaf * leaf).sum().backward();
  FakeTensorConverter converter;
  const Tensor fake = converter.from_tensor(leaf);
  EXPECT_TRUE(fake.requires_grad());
  EXPECT_TRUE(fake.is_leaf());
  ASSERT_TRUE(fake.grad().defined());
  EXPECT_TRUE(is_fake(fake.grad()));
  EXPECT_EQ(fake.grad().sizes(), leaf.sizes());
  const Tensor inner = converter.from_tensor(leaf * 2);
  EXPECT_TRUE(inner.requires_grad());
  EXPECT_FALSE(inner.is_leaf());
  EXPECT_FALSE(converter.from_tensor(randn({3})).requires_grad());
}

TEST(FakeTensor, TheConverterKeepsNoRealTensorAlive) {
  FakeTensorConverter converter;
  Tensor real = randn({3});
  const weak_intrusive_ptr<StorageImpl> storage(real.storage());
  converter.from_tensor(real);
  real.reset();
  EXPECT_TRUE(storage.expired());
  EXPECT_FALSE(converter.from_tensor(randn({5})).sizes() == IntArrayRef({3}));
}

TEST(FakeTensor, WritesReturnTheTensorThatWasPassed) {
  Tensor x = to_fake(ones({2, 3})), out = to_fake(empty({0}));
  EXPECT_TRUE(x.add_(1).is_same(x));
  EXPECT_EQ(x._version(), 1);
  EXPECT_TRUE(add_out(out, x, x).is_same(out));
  EXPECT_EQ(out.sizes(), x.sizes());
  EXPECT_EQ(out.storage()->nbytes(), 24u);
  EXPECT_TRUE(x.t_().is_same(x));
  EXPECT_EQ(x.sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(x.strides(), IntArrayRef({1, 3}));
  EXPECT_TRUE(x.resize_({5, 5}).is_same(x));
  EXPECT_EQ(x.sizes(), IntArrayRef({5, 5}));
  EXPECT_EQ(x.storage()->nbytes(), 100u);
}

TEST(FakeTensor, ViewsShareStorageAndVersion) {
  const Tensor x = to_fake(ones({4, 4}));
  const Tensor row = x.select(0, 1);
  EXPECT_TRUE(row.is_alias_of(x));
  EXPECT_TRUE(row._base().is_same(x));
  row.add_(1);
  EXPECT_EQ(x._version(), 1);
  EXPECT_FALSE(x.clone().is_alias_of(x));
  EXPECT_TRUE(x.contiguous().is_same(x));
  for (const Tensor& part : x.split(2)) EXPECT_TRUE(part.is_alias_of(x));
}

// Where an operand of another shape is among them, all strides decide how a result lies, also those of dimensions of
// size 1, in which contiguous tensors may have any.
TEST(FakeTensor, ResultsLieAsRealOnesWhateverTheStridesOfDimensionsOfSizeOne) {
  const Tensor number = randn({}), mask_like = rand({2, 1, 3}), numbers = randn({2, 1, 3});
  const auto lying = [](const Tensor& t, int64_t stride) { return t.as_strided({2, 1, 3}, {3, stride, 1}); };
  for (const int64_t a : {1, 2, 3, 6})
    for (const int64_t b : {1, 2, 3, 6}) {
      const Tensor mask = lying(mask_like.gt(0.5), a), x = lying(numbers, b), y = lying(mask_like, a);
      const auto all = [&](auto&& as) {
        return std::vector<Tensor>{where(as(mask), as(x), as(number)),
                                   where(as(mask), as(number), as(x)),
                                   addcmul(as(x), as(y), as(number)),
                                   addcmul(as(number), as(x), as(y)),
                                   as(x) + as(y),
                                   as(x) + as(number)};
      };
      const std::vector<Tensor> real = all([](const Tensor& t) { return t; });
      const std::vector<Tensor> fake = all([](const Tensor& t) { return to_fake(t); });
      ASSERT_EQ(real.size(), fake.size());
      for (size_t i = 0; i < real.size(); ++i) {
        EXPECT_EQ(fake[i].strides(), real[i].strides()) << a << b << i;
        EXPECT_EQ(fake[i].sizes(), real[i].sizes()) << a << b << i;
        EXPECT_EQ(fake[i].dtype(), real[i].dtype()) << a << b << i;
      }
    }
}

TEST(FakeTensor, ComputesGradientsShapes) {
  const Tensor w = to_fake(randn({10, 64})).requires_grad_(), b = to_fake(randn({10})).requires_grad_();
  const Tensor x = to_fake(randn({32, 64})), target = to_fake(zeros({32}, kLong));
  const Tensor loss = cross_entropy_loss(gelu(linear(x, w, b)), target);
  EXPECT_EQ(loss.grad_fn()->name(), "NllLossBackward0");
  loss.backward();
  EXPECT_TRUE(is_fake(w.grad()));
  EXPECT_EQ(w.grad().sizes(), w.sizes());
  EXPECT_EQ(b.grad().sizes(), b.sizes());
}

TEST(FakeTensor, WhatBackwardMakesIsFakeOutsideOfTheMode) {
  const Tensor x = to_fake(randn({4, 3})).requires_grad_();
  const Tensor y = x * 2;
  y.t().select(0, 1).mul_(3);  // CopySlices
  const auto parts = y.split(2);
  parts[0].sum().backward();  // a gradient of zeros for the other part
  EXPECT_TRUE(is_fake(x.grad()));
  EXPECT_EQ(x.grad().sizes(), x.sizes());
  const Tensor v = to_fake(randn({3, 3})).t().requires_grad_();  // a grad that lies as its leaf does
  v.expand({2, 3, 3}).sum().backward();
  EXPECT_TRUE(is_fake(v.grad()));
  const Tensor kept = dropout(x, 1.0, true);
  EXPECT_TRUE(is_fake(kept));
}

TEST(FakeTensor, SavedTensorsAreCheckedForChanges) {
  const Tensor x = to_fake(randn({3})).requires_grad_();
  Tensor y = x.exp();
  y.add_(1);
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("has been modified by an inplace operation"));
  EXPECT_THAT(errorOf([&] {
                Tensor leaf = x;
                leaf.add_(1);
              }),
              HasSubstr("leaf Variable that requires grad"));
}

TEST(FakeTensor, NumbersMayGoAlong) {
  const Tensor x = to_fake(ones({2}, kInt));
  EXPECT_EQ((x + 2).dtype(), kInt);
  EXPECT_EQ((x * 2.5).dtype(), kFloat);
  EXPECT_EQ(x.add(wrapped_scalar_tensor(2.5)).dtype(), kFloat);
  EXPECT_EQ(where(x.gt(0), x, 1.5).dtype(), kFloat);
}

TEST(FakeTensor, KeepsToOneDevice) {
  const FakeTensorMode mode;
  const Tensor on_gpu = ones({2, 2}, kOnCuda), on_cpu = ones({2, 2}), number = ones({});
  const Tensor second = ones({2, 2}, TensorOptions().device(Device(kCUDA, 1)));
  EXPECT_EQ((on_gpu + ones({2, 2}, TensorOptions().device(Device(kCUDA, 0)))).device(), Device(kCUDA, 0));
  EXPECT_EQ((on_gpu + number).device(), Device(kCUDA, 0));
  EXPECT_EQ((number + on_gpu).device(), Device(kCUDA, 0));
  EXPECT_EQ((on_gpu + on_gpu).device(), Device(kCUDA, 0));
  EXPECT_EQ(on_gpu.mm(on_gpu).device(), Device(kCUDA, 0));
  EXPECT_EQ(cat({on_gpu, on_gpu}).device(), Device(kCUDA, 0));
  EXPECT_EQ(on_gpu.index_select(0, ones({1}, kOnCuda.dtype(kLong))).device(), Device(kCUDA, 0));
  EXPECT_EQ(zeros_like(second).device(), Device(kCUDA, 1));
  EXPECT_EQ(zeros_like(on_gpu, TensorOptions().device(kCPU)).device(), Device(kCPU));
  EXPECT_EQ(
      errorOf([&] { on_gpu + on_cpu; }),
      "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (when checking "
      "argument 'other' of add) (in aten::add.Tensor)");
  EXPECT_THAT(errorOf([&] { on_gpu + second; }), HasSubstr("cuda:0 and cuda:1!"));
  EXPECT_THAT(
      errorOf([&] { on_gpu.mm(on_cpu); }),
      StartsWith("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (when "
                 "checking argument for argument mat2 in method wrapper_CUDA_mm)"));
}

// By name and index: what runs inside are twins on Meta, which no message may show.
TEST(FakeTensor, ErrorsNameItsDevice) {
  const FakeTensorMode mode;
  const auto draw = [](Device device) {
    return errorOf([&] {
      ones({4}, TensorOptions(kHalf).device(device)).bernoulli_(ones({4, 4}, TensorOptions(kHalf).device(device)));
    });
  };
  EXPECT_THAT(draw(kCPU), StartsWith("expand(cpu Half tensor of size [4, 4], size=[4])"));
  EXPECT_THAT(draw(Device(kCUDA, 1)), StartsWith("expand(cuda Half tensor of size [4, 4], size=[4])"));
  EXPECT_THAT(draw(kMeta), StartsWith("expand(meta Half tensor of size [4, 4], size=[4])"));
  EXPECT_THAT(errorOf([] { ones({2}, kOnCuda).normal_(0, 1, default_generator()); }),
              StartsWith("Expected a 'cuda' device type for generator but found 'cpu'"));
  EXPECT_THAT(errorOf([] { ones({2}, TensorOptions().device(DeviceType::OPENGL)); }),
              StartsWith("fake tensors on device opengl are not supported: no backend key stands for its tensors"));
}

template <class F>
void expectTheErrorOfRealOnes(F&& call) {
  const std::string expected = errorOf([&] { call([](const Tensor& t) { return t; }); });
  EXPECT_NE(expected, "no error");
  EXPECT_EQ(errorOf([&] { call([](const Tensor& t) { return to_fake(t); }); }), expected);
}

// Several things are wrong; the first that a real call notices is said.
TEST(FakeTensor, ChecksInTheOrderOfRealOnes) {
  expectTheErrorOfRealOnes([](auto make) {
    const Tensor x = make(ones({5}, kInt));
    x.slice(0, 0, 4).sub_(x.slice(0, 1, 5), 1.5);
  });
  expectTheErrorOfRealOnes([](auto make) { make(ones({4}, kInt)).sub_(make(ones({3}, kInt)), 1.5); });
  expectTheErrorOfRealOnes([](auto make) { make(ones({4}, kInt)).sub_(make(ones({4}, kFloat)), 1.5); });
  expectTheErrorOfRealOnes([](auto make) { make(ones({4}, kBool)).sub_(make(ones({4}, kBool)), 1.5); });
  expectTheErrorOfRealOnes([](auto make) { make(ones({1}, kInt)).expand({4}).sub_(make(ones({4}, kFloat)), 1.5); });
  expectTheErrorOfRealOnes([](auto make) {
    Tensor x = make(ones({5}, kInt)), out = x.slice(0, 1, 5);
    add_out(out, x.slice(0, 0, 4), x.slice(0, 0, 4), 1.5);
  });
}

TEST(FakeTensor, UndefinedTensorsAreTheErrorsOfRealOnes) {
  const Tensor undefined;
  for (const auto& call :
       std::vector<std::function<void()>>{[&] { undefined.abs(); }, [&] { undefined.sum(); }, [&] { cat({}); },
                                          [&] {
                                            Tensor t;
                                            t.mul_(2);
                                          },
                                          [&] { undefined.softmax(0); }}) {
    const std::string real = errorOf(call);
    EXPECT_NE(real, "no error");
    const FakeTensorMode mode;
    EXPECT_EQ(errorOf(call), real);
  }
}

TEST(FakeTensor, IsDetachedInPlace) {
  Tensor x = to_fake(ones({2})).requires_grad_() * 2, y = to_fake(ones({2})).requires_grad_() * 2;
  x.detach_();
  EXPECT_FALSE(x.requires_grad());
  {
    const NoGradGuard no_grad;
    y.detach_();
  }
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(y.grad_fn(), nullptr);
  EXPECT_THAT(errorOf([&] { y.view({2}).detach_(); }), HasSubstr("Can't detach views in-place"));
}

TEST(FakeTensor, MovesBetweenDevices) {
  const FakeTensorMode mode;
  const Tensor x = ones({2, 3}).t();
  const Tensor y = x.to(Device(kCUDA));
  EXPECT_EQ(y.device(), Device(kCUDA, 0));
  EXPECT_EQ(y.strides(), x.strides());
  EXPECT_TRUE(y.to(Device(kCUDA)).is_same(y));
  EXPECT_TRUE(y.to(Device(kCUDA, 0)).is_same(y));
  EXPECT_FALSE(y.to(Device(kCUDA, 1)).is_same(y));
  EXPECT_TRUE(ones({2}, TensorOptions().device(Device(kCUDA, 1))).to(Device(kCUDA)).device() == Device(kCUDA, 0));
  EXPECT_TRUE(x.cpu().is_same(x));
  EXPECT_EQ(y.cpu().device(), Device(kCPU));
  EXPECT_EQ(x.to(y).device(), Device(kCUDA, 0));
  EXPECT_EQ(empty({3, 2}).copy_(y).device(), Device(kCPU));
  const Tensor w = ones({2}).requires_grad_();
  w.to(Device(kCUDA)).sum().backward();
  EXPECT_EQ(w.grad().device(), Device(kCPU));
  for (const Device to : {Device("privateuseone"), Device("xla:0"), Device("meta"), Device("cuda:1")}) {
    const Tensor moved = x.to(to);
    EXPECT_TRUE(is_fake(moved));
    EXPECT_EQ(moved.device(), to);
    EXPECT_EQ((moved + 1).sum().device(), to);
    EXPECT_EQ(x.copy_(moved).device(), Device(kCPU));
  }
  EXPECT_THAT(errorOf([&] { ones({4}).copy_(ones({3}, kOnCuda)); }), HasSubstr("The size of tensor a (4) must match"));
}

TEST(FakeTensor, RealOnesAmongFakeOnesAreAnError) {
  const Tensor fake = to_fake(ones({2})), real = ones({2});
  EXPECT_EQ(errorOf([&] { fake + real; }),
            "operator aten::add.Tensor: argument 'other' (position 2): expected a fake tensor, as other arguments are, "
            "got a real one, "
            "Float[2] on cpu. Convert it with FakeTensorMode::from_tensor(t) or to_fake(t)");
  EXPECT_THAT(errorOf([&] {
                Tensor r = real;
                r.copy_(fake);
              }),
              StartsWith("operator aten::copy_: argument 'self' (position 1): expected a fake tensor"));
  EXPECT_THAT(errorOf([&] { cat({fake, real}); }), StartsWith("operator aten::cat: argument 'tensors' (position 1)"));
  EXPECT_THAT(errorOf([&] { linear(fake, real); }),
              StartsWith("operator aten::linear: argument 'weight' (position 2)"));
  const FakeTensorMode mode;
  EXPECT_THAT(errorOf([&] { real.relu(); }), HasSubstr("since a FakeTensorMode is active"));
}

TEST(FakeTensor, RealLeavesGetRealGradientsAndFakeOnesFakeOnes) {
  const Tensor real = ones({2}).requires_grad_(), fake = to_fake(ones({2})).requires_grad_();
  EXPECT_EQ(errorOf([&] { (real * 2).backward(to_fake(ones({2}))); }),
            "grad_output[0] is a fake tensor and output[0] is a real one; a gradient has numbers where its output has");
  EXPECT_THAT(errorOf([&] { (fake * 2).backward(ones({2})); }),
              StartsWith("grad_output[0] is a real tensor and output[0] is a fake one"));
  EXPECT_FALSE(real.grad().defined());
  const Tensor y = real * 2;
  y.register_hook([](const Tensor& grad) { return to_fake(grad); });
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("fake"));
  EXPECT_FALSE(real.grad().defined());
  real.mutable_grad() = to_fake(ones({2}));
  EXPECT_EQ(errorOf([&] { (real * 2).sum().backward(); }),
            "backward: the grad that was set on a leaf of shape [2] is a fake tensor, and the leaf is a real one");
  real.mutable_grad().reset();
  (real * 2).sum().backward();
  EXPECT_FALSE(is_fake(real.grad()));
}

// Each new tensor once looked at all older ones. When it does, it lets go of what is fake of tensors that are gone: so
// one that is gone shows how often.
TEST(FakeTensor, ManyOfOneConverterAreLookedThroughRarely) {
  FakeTensorConverter converter;
  const auto fakeOfGone = [&] {
    return weak_intrusive_ptr<TensorImpl>(converter.from_tensor(ones({1})).getIntrusivePtr());
  };
  std::vector<Tensor> kept;
  auto watched = fakeOfGone();
  int looked = 0;
  for (int i = 0; i < 4096; ++i) {
    converter.from_tensor(kept.emplace_back(ones({1})));
    if (!watched.expired()) continue;
    ++looked;
    watched = fakeOfGone();
  }
  EXPECT_GT(looked, 0) << "the test can't see it";
  EXPECT_LT(looked, 16);
}

TEST(FakeTensor, HasNoElements) {
  const Tensor x = to_fake(ones({1}));
  EXPECT_EQ(errorOf([&] { x.item(); }),
            "operator aten::_local_scalar_dense: data-dependent operator on fake tensors: what it does depends on "
            "elements, which "
            "they don't have; run it on real tensors");
  EXPECT_THAT(errorOf([&] { narrow(to_fake(ones({4})), 0, to_fake(ones({}, kLong)), 1); }),
              HasSubstr("data-dependent operator on fake tensors"));
  EXPECT_THAT(errorOf([&] { x.nonzero(); }), HasSubstr("data-dependent operator on fake tensors"));
  EXPECT_THAT(errorOf([&] { shunt::where(x); }), HasSubstr("data-dependent operator on fake tensors"));
  EXPECT_THAT(errorOf([&] { x.masked_select(x.gt(0)); }), HasSubstr("data-dependent operator on fake tensors"));
  EXPECT_EQ(errorOf([&] { x.data_ptr(); }), "cannot access data pointer of a fake tensor: it has a shape but no data");
  EXPECT_EQ(errorOf([&] { x.data_ptr<float>(); }),
            "cannot access data pointer of a fake tensor: it has a shape but no data");
  EXPECT_THAT(errorOf([&] { toDLPack(x); }), HasSubstr("a fake tensor: it has a shape but no data"));
}

TEST(FakeTensor, Prints) {
  const FakeTensorMode mode;
  EXPECT_EQ(empty({2, 3}).toString(), "FakeTensor(..., size=(2, 3))");
  EXPECT_EQ(empty({2}, kOnCuda.dtype(kDouble)).toString(),
            "FakeTensor(..., device='cuda:0', size=(2,), dtype=torch.float64)");
  EXPECT_EQ(empty({0}).toString(), "FakeTensor(..., size=(0,))");
  EXPECT_EQ(empty({2}).requires_grad_().mul(2).toString(), "FakeTensor(..., size=(2,), grad_fn=<MulBackward1>)");
}

TEST(FakeTensor, DrawsNoNumbers) {
  manual_seed(3);
  const Tensor expected = rand({4});
  manual_seed(3);
  {
    const FakeTensorMode mode;
    rand({4});
    randperm(10);
    dropout(ones({4}), 0.5, true);
    empty({4}).normal_();
  }
  EXPECT_TRUE(rand({4}).eq(expected).all().item<bool>());
}

Tensor twiceMeta(const Tensor& x) { return empty_like(x); }
Tensor countMeta(const Tensor& x) { return x.new_empty({x.sum().item().toLong()}); }
Tensor refuseMeta(const Tensor&) { throw Error("refuse: a name, which has no numbers in it"); }

TEST(FakeTensor, OperatorsOfOneselfNeedAMetaKernel) {
  const Library library = [] {
    Library m(Library::Kind::kDef, "fake_tests");
    m.def("twice(Tensor x) -> Tensor");
    m.def("count(Tensor x) -> Tensor");
    m.impl("count", dispatch(DispatchKey::Meta, &countMeta));
    m.def("refuse(Tensor x) -> Tensor");
    m.impl("refuse", dispatch(DispatchKey::Meta, &refuseMeta));
    return m;
  }();
  const Tensor x = to_fake(ones({2}));
  const auto twice = Dispatcher::singleton().findSchemaOrThrow("fake_tests::twice", "").typed<Tensor(const Tensor&)>();
  const auto count = Dispatcher::singleton().findSchemaOrThrow("fake_tests::count", "").typed<Tensor(const Tensor&)>();
  const auto refuse =
      Dispatcher::singleton().findSchemaOrThrow("fake_tests::refuse", "").typed<Tensor(const Tensor&)>();
  EXPECT_THAT(errorOf([&] { refuse.call(x); }), StartsWith("refuse: a name, which has no numbers in it"));
  EXPECT_THAT(errorOf([&] { twice.call(x); }),
              HasSubstr("operator fake_tests::twice: fake tensors need its Meta kernel"));
  Library meta(Library::Kind::kImpl, "fake_tests", DispatchKey::Meta);
  meta.impl("twice", &twiceMeta);
  EXPECT_TRUE(is_fake(twice.call(x)));
  EXPECT_EQ(twice.call(x).sizes(), x.sizes());
  EXPECT_EQ(errorOf([&] { count.call(x); }),
            "operator fake_tests::count: data-dependent operator on fake tensors: what it does depends on elements, "
            "which they don't "
            "have; run it on real tensors");
}

}  // namespace
}  // namespace shunt
