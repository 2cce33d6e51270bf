// fill and masked_fill with a tensor as value: what a sample's number becomes, or that it doesn't fit, is as in the
// loop.
#include "tests/vmap/util.h"

#include <shunt/trace/trace.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

namespace shunt::test {
namespace {

constexpr ScalarType kDtypes[] = {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};

using Fill = std::function<Tensor(const Tensor& self, const Tensor& mask, const Tensor& value)>;
struct Form {
  const char* name;
  bool writes;
  Fill fill;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"fill", false, [](const Tensor& s, const Tensor&, const Tensor& v) { return ops::fill_Tensor::call(s, v); }},
      {"fill_", true,
       [](const Tensor& s, const Tensor&, const Tensor& v) {
         Tensor c = s.clone();
         return ops::fill__Tensor::call(c, v);
       }},
      {"masked_fill", false, [](const Tensor& s, const Tensor& m, const Tensor& v) { return s.masked_fill(m, v); }},
      {"masked_fill_", true,
       [](const Tensor& s, const Tensor& m, const Tensor& v) {
         Tensor c = s.clone();
         return c.masked_fill_(m, v);
       }},
  };
  return all;
}

std::string textOf(const std::string& error) { return error.substr(0, error.find(" (in aten::")); }

void expectTheLoop(const Form& form, const Tensors& in, const std::vector<std::optional<int64_t>>& dims) {
  const Tensor mask = in[0].dim() > (dims[0] ? 1 : 0) ? tensor({true, false}) : tensor(true);
  const Function f = [&](const Tensors& t) { return Tensors{form.fill(t[0], mask, t[1])}; };
  Tensors got, expected;
  const std::string refused = errorOf([&] { expected = loop(f, in, dims); });
  const std::string error = errorOf([&] { got = vmapped(f, in, dims); });
  const std::string what = detail::str(form.name, ' ', in[0].dtype(), in[0].sizes(), dims[0] ? " batched" : "",
                                       " with ", in[1].dtype(), in[1].sizes(), dims[1] ? " batched" : "");
  ASSERT_EQ(textOf(error), textOf(refused)) << what;
  if (!got.empty()) ASSERT_TRUE(sameValues(got[0], expected[0])) << what << got[0] << expected[0];
}

/// Of one number, and of it between others that fit; nothing where the dtype has no such number.
Tensor valuesOf(double number, ScalarType t, bool batched) {
  return (batched ? tensor({1.0, number, 2.0}) : tensor(number)).to(t);
}

TEST(VmapFill, NumbersBecomeElementsAsThoseOfOneSample) {
  for (const ScalarType to : kDtypes)
    for (const ScalarType from : kDtypes)
      for (const double number : {300.0, -1.0, -1.5, 1e5, 3e9, 1e39, 65510.0, 1 + 0x1p-24, 0.0 / 0.0, 1.0 / 0.0})
        for (const Form& form : forms())
          for (const unsigned batched : {1u, 2u, 3u})
            for (const bool has_dims : {false, true}) {
              const bool self = (batched & 1) != 0, value = (batched & 2) != 0;
              if (form.writes && !self) continue;  // refused
              std::vector<int64_t> sizes;
              if (self) sizes.push_back(3);
              if (has_dims) sizes.push_back(2);
              expectTheLoop(
                  form, {ones(sizes, TensorOptions(to)), valuesOf(number, from, value)},
                  {self ? std::optional<int64_t>(0) : std::nullopt, value ? std::optional<int64_t>(0) : std::nullopt});
            }
}

// A number is a double before it is an element, so that it is rounded twice.
TEST(VmapFill, LargeIntegersAreRoundedAsNumbers) {
  const int64_t large = int64_t{1} << 62, half = int64_t{1} << 38;
  const Tensor values = tensor(std::vector<int64_t>{large + half + 1, 5, large - 1});
  ASSERT_NE(values[0].to(kFloat).item<float>(), static_cast<float>(values[0].item<double>()));
  for (const Form& form : forms()) expectTheLoop(form, {zeros({3, 2}), values}, {0, 0});
}

TEST(VmapFill, InsideAndAroundOtherTransforms) {
  const Tensor self = ones({3, 2}, TensorOptions(kChar)), good = tensor({1, -2, 3}), bad = tensor({1, 300, 3});
  const Function fill = [](const Tensors& t) { return Tensors{t[0].masked_fill(tensor({true, false}), t[1])}; };
  const Tensor expected = loop(fill, {self, good}, {0, 0})[0];
  const auto one = [&](const Tensor& s, const Tensor& v) { return fill({s, v})[0]; };
  const auto each = [&](const Tensor& s, const Tensor& v) { return vmap(one)(s, v); };
  const auto all = [&](const Tensor& s, const Tensor& v) { return vmap(each, {.in_dims = {0, std::nullopt}})(s, v); };
  const Tensor twice = stack({self, self});
  EXPECT_TRUE(sameValues(all(twice, good)[1], expected));
  EXPECT_THAT(errorOf([&] { all(twice, bad); }), testing::HasSubstr("without overflow: 300"));

  EXPECT_TRUE(sameValues(functionalize(each)(self, good), expected));
  EXPECT_THAT(errorOf([&] { functionalize(each)(self, bad); }), testing::HasSubstr("without overflow: 300"));

  const Graph graph = trace([&](const Tensors& t) { return Tensors{each(t[0], t[1])}; }, Tensors{self, good});
  EXPECT_TRUE(sameValues(graph.run({self, good})[0], expected));
  EXPECT_THAT(errorOf([&] { graph.run({self, bad}); }), testing::HasSubstr("without overflow: 300"));

  const Tensor x = ones({3}, TensorOptions(kFloat));
  const auto of_half = [&](const Tensor& v) {
    return vmap([](const Tensor& t) { return ops::fill_Tensor::call(ones({2}, TensorOptions(kHalf)), t).sum(); })(v)
        .sum();
  };
  EXPECT_TRUE(sameValues(grad(of_half)(x), x * 2));
  EXPECT_THAT(errorOf([&] { grad(of_half)(x * 1e5); }), testing::HasSubstr("Half without overflow"));
  const auto filled = [](const Tensor& s, const Tensor& v) { return ops::fill_Tensor::call(s, v); };
  EXPECT_EQ(vmap(filled)(to_fake(self), to_fake(bad)).sizes(), self.sizes());
}

}  // namespace
}  // namespace shunt::test
