// A batch of none: results have the dtypes and shapes that those of samples would have.
#include "tests/vmap/util.h"

#include <shunt/core/library.h>
#include <shunt/transforms/autocast.h>
#include <shunt/transforms/fake_tensor.h>

namespace shunt::test {
namespace {

struct Call {
  const char* name;
  Tensors samples;  // one of each argument
  Function f;
};

Tensor indices(std::vector<int64_t> sizes) { return zeros(sizes, TensorOptions(kLong)); }

std::vector<Call> selections() {
  const Tensor x = randn({5, 6}), i = indices({2});
  return {
      {"index_select", {x, i}, [](const Tensors& t) { return Tensors{t[0].index_select(-1, t[1])}; }},
      {"index_select by one number",
       {x, indices({})},
       [](const Tensors& t) { return Tensors{t[0].index_select(0, t[1])}; }},
      {"index_select of one number",
       {randn({}), indices({1})},
       [](const Tensors& t) { return Tensors{t[0].index_select(0, t[1])}; }},
      {"index_add, index_add_",
       {x, i, randn({2, 6})},
       [](const Tensors& t) {
         return Tensors{t[0].index_add(0, t[1], t[2], 2), (t[0] + t[1].sum() * t[2].sum()).index_add_(0, t[1], t[2])};
       }},
      {"embedding", {x, i}, [](const Tensors& t) { return Tensors{embedding(t[0], t[1]), embedding(t[0], t[1], 1)}; }},
      {"index, index_put",
       {x, i},
       [](const Tensors& t) {
         return Tensors{t[0].index({indexing::Slice(), t[1]}), index_put(t[0], {t[1]}, t[0][0], true)};
       }},
      {"topk of one number", {randn({})}, [](const Tensors& t) { return Tensors{std::get<1>(t[0].topk(1, 0))}; }},
  };
}

std::vector<Call> networks() {
  const Tensor image = randn({2, 4, 5, 5}), weight = randn({6, 2, 3, 3}), bias = randn({6}), x = randn({5, 4});
  return {
      {"conv2d",
       {image, weight, bias},
       [](const Tensors& t) { return Tensors{conv2d(t[0], t[1], t[2], {2, 1}, {1, 0}, 1, 2)}; }},
      {"batch_norm, in training",
       {x, randn({4}), randn({4})},
       [](const Tensors& t) {
         return Tensors{batch_norm(t[0], t[1], t[2], std::nullopt, std::nullopt, true, 0.1, 1e-5, false)};
       }},
      {"batch_norm",
       {x, randn({4}), randn({4}).square() + 1},
       [](const Tensors& t) {
         return Tensors{batch_norm(t[0], std::nullopt, std::nullopt, t[1], t[2], false, 0.1, 1e-5, false)};
       }},
      {"pooling",
       {image},
       [](const Tensors& t) {
         return Tensors{avg_pool2d(t[0], 2), max_pool2d(t[0], {3, 2}, {2, 2}, {1, 0}), max_pool2d(t[0][0], 2)};
       }},
      {"losses with class weights",
       {x, indices({5}), rand({4})},
       [](const Tensors& t) {
         return Tensors{cross_entropy_loss(t[0], t[1], t[2]), cross_entropy_loss(t[0], t[1], t[2], 0),
                        cross_entropy_loss(t[0], t[1], t[2], 1, 1, 0.1)};
       }},
  };
}

Tensor noneOf(const Tensor& sample) { return sample.unsqueeze(0).slice(0, 0, 0).clone(); }

/// With a batch for the arguments whose bit is set in `which`.
void expectNone(const Call& c, unsigned which, const Function& f, const char* what) {
  Tensors one, none;
  std::vector<std::optional<int64_t>> dims;
  for (size_t i = 0; i < c.samples.size(); ++i) {
    const bool batched = (which >> i & 1) != 0;
    one.push_back(batched ? c.samples[i].unsqueeze(0) : c.samples[i]);
    none.push_back(batched ? noneOf(c.samples[i]) : c.samples[i]);
    dims.push_back(batched ? std::optional<int64_t>(0) : std::nullopt);
  }
  const Tensors expected = loop(f, one, dims), got = vmapped(f, none, dims);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t r = 0; r < got.size(); ++r)
    EXPECT_TRUE(sameValues(got[r], noneOf(expected[r][0])))
        << c.name << ", " << what << ", arguments " << which << ", result " << r << ": " << got[r].dtype()
        << got[r].sizes();
}

Tensors gradients(const Function& f, const Tensors& in) {
  const auto all = [&](const Tensor& first) {
    Tensors replaced = in;
    replaced[0] = first;
    Tensor total = zeros({});
    for (const Tensor& t : f(replaced))
      if (t.is_floating_point()) total = total + t.sum();
    return total;
  };
  return {grad(all)(in[0])};
}

TEST(VmapNoSamples, ShapesAreThoseOfSamples) {
  for (const auto& calls : {selections(), networks()})
    for (const Call& c : calls)
      for (unsigned which = 1; which < 1u << c.samples.size(); ++which) {
        expectNone(c, which, c.f, "itself");
        expectNone(c, which, [&](const Tensors& t) { return gradients(c.f, t); }, "gradient");
        const Function inner = [&](const Tensors& t) {
          std::vector<std::optional<int64_t>> dims(t.size(), 0);
          Tensors pairs;
          for (const Tensor& a : t) pairs.push_back(stack({a, a}));
          return vmapped(c.f, pairs, dims);
        };
        expectNone(c, which, inner, "nested");
      }
}

TEST(VmapNoSamples, ResultsDependOnTheArguments) {
  const Tensor x = zeros({0, 2, 4, 5}).requires_grad_(), w = randn({3, 2, 3, 3}).requires_grad_();
  const auto f = [](const Tensor& image, const Tensor& weight) { return conv2d(image, weight); };
  const VmapOptions shared = {.in_dims = {0, std::nullopt}};
  const Tensor y = vmap(f, shared)(x, w);
  EXPECT_EQ(y.sizes(), IntArrayRef({0, 3, 2, 3}));
  y.sum().backward();
  EXPECT_TRUE(sameValues(x.grad(), zeros({0, 2, 4, 5})));
  EXPECT_TRUE(sameValues(w.grad(), zeros({3, 2, 3, 3})));
  const auto sum = [&](const Tensor& weight) { return vmap(f, shared)(x.detach(), weight).sum(); };
  EXPECT_TRUE(sameValues(grad(sum)(w.detach()), zeros({3, 2, 3, 3})));
  EXPECT_TRUE(sameValues(vmap(grad(sum))(w.detach().unsqueeze(0)), zeros({1, 3, 2, 3, 3})));
}

TEST(VmapNoSamples, UnderModesOfTheCaller) {
  const auto f = vmap([](const Tensor& image) { return conv2d(image, ones({3, 2, 3, 3})) + image.sum(); });
  const Tensor x = zeros({0, 2, 4, 5});
  {
    const AutocastGuard autocast(DeviceType::CPU);
    EXPECT_EQ(vmap([](const Tensor& image) { return conv2d(image, ones({3, 2, 3, 3})); })(x).dtype(), kBFloat16);
  }
  EXPECT_EQ(functionalize(f)(x).sizes(), IntArrayRef({0, 3, 2, 3}));
  const FakeTensorMode fake;
  const Tensor y = f(to_fake(x));
  EXPECT_TRUE(is_fake(y));
  EXPECT_EQ(y.sizes(), IntArrayRef({0, 3, 2, 3}));
}

TEST(VmapNoSamples, RefusesWhatASampleRefuses) {
  const auto f = [](const Tensor& image) { return conv2d(image, ones({3, 7, 3, 3})); };
  EXPECT_EQ(errorOf([&] { vmap(f)(zeros({0, 2, 4, 5})); }), errorOf([&] { vmap(f)(zeros({1, 2, 4, 5})); }));
}

TEST(VmapNoSamples, RefusesShapesThatDependOnElements) {
  const auto chosen = [](const Tensor& t) { return t.index({t.gt(0)}); };
  EXPECT_THAT(errorOf([&] { vmap(chosen)(zeros({0, 3})); }),
              testing::HasSubstr("depends on elements, of which a batch without samples has none"));
}

TEST(VmapNoSamples, OperatorsOfThePrograms) {
  Library lib(Library::Kind::kDef, "vmap_none");
  lib.def("halved(Tensor self) -> Tensor");
  lib.def("fill_(Tensor(a!) self, Tensor value) -> Tensor(a!)");
  lib.impl("halved", dispatch(DispatchKey::CPU, [](const Tensor& t) { return t.slice(0, 0, t.size(0) / 2).clone(); }));
  const auto halved = [](const Tensor& t) {
    return Dispatcher::singleton().findSchemaOrThrow("vmap_none::halved").typed<Tensor(const Tensor&)>().call(t);
  };
  const Tensor x = zeros({0, 4, 3});
  EXPECT_THAT(errorOf([&] { vmap(halved)(x); }), testing::HasSubstr("register one: m.impl(\"vmap_none::halved\""));
  lib.impl("halved",
           dispatch(DispatchKey::Meta, [](const Tensor& t) { return t.new_empty({t.size(0) / 2, t.size(1)}); }));
  EXPECT_EQ(vmap(halved)(x).sizes(), IntArrayRef({0, 2, 3}));

  const auto fill = [](Tensor& t, const Tensor& value) -> Tensor& { return t.fill_(value); };
  for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::Meta}) lib.impl("fill_", dispatch(key, fill));
  const auto filled = [](const Tensor& t) {
    Tensor own = t.clone();
    Dispatcher::singleton()
        .findSchemaOrThrow("vmap_none::fill_")
        .typed<Tensor&(Tensor&, const Tensor&)>()
        .call(own, t.sum());
    return own;
  };
  EXPECT_EQ(vmap(filled)(x).sizes(), IntArrayRef({0, 4, 3}));
}

}  // namespace
}  // namespace shunt::test
