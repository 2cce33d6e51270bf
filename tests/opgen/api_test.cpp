// The generated functions and methods: overloads, defaults, ways to write arguments.
#include <shunt/shunt.h>

#include <gtest/gtest.h>

namespace shunt {
namespace {

using Sizes = std::vector<int64_t>;

std::string schemaText(const char* name, const char* overload) {
  return Dispatcher::singleton().findSchemaOrThrow((std::string("aten::") + name).c_str(), overload).schema().str();
}

TEST(Api, DimensionsMayBeNumbersListsOrAbsent) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(x.sum(0).sizes().vec(), (Sizes{3}));
  EXPECT_EQ(x.sum(-1, true).sizes().vec(), (Sizes{2, 1}));
  EXPECT_EQ(x.sum({0, 1}).dim(), 0);
  EXPECT_EQ(x.sum(std::vector<int64_t>{1}).sizes().vec(), (Sizes{2}));
  EXPECT_EQ(x.sum().item<float>(), 6.0f);
  EXPECT_EQ(x.sum(kDouble).scalar_type(), kDouble);
  EXPECT_EQ(x.sum(std::nullopt, true).sizes().vec(), (Sizes{1, 1}));
  EXPECT_EQ(x.reshape(-1).sizes().vec(), (Sizes{6}));
}

TEST(Api, OutFunctionsInBothOrders) {
  const Tensor a = ones({2}), b = ones({2});
  Tensor out = empty({0});
  EXPECT_TRUE(add_out(out, a, b, 2).is_same(out));
  EXPECT_EQ(out[0].item<float>(), 3.0f);
  EXPECT_TRUE(add_outf(a, b, 3, out).is_same(out));
  EXPECT_EQ(out[0].item<float>(), 4.0f);
}

TEST(Api, LiteralsChooseOneOverload) {
  EXPECT_EQ(arange(0, 4, 2).numel(), 2);
  EXPECT_EQ(arange(0, 2).numel(), 2);
  EXPECT_EQ(arange(2, kFloat).scalar_type(), kFloat);
  EXPECT_EQ(empty({2}, "meta").device(), Device(kMeta));
  Tensor x = zeros({64}, kChar);
  x.random_(100, std::nullopt);  // from 100 to the type's largest
  EXPECT_GE(x.min().item<int64_t>(), 100);
  EXPECT_TRUE(schemaText("arange", "start_step").find("Scalar step=1") != std::string::npos);
}

TEST(Api, FactoriesTakeOptionsOrTheirParts) {
  EXPECT_EQ(empty({2}, kDouble).scalar_type(), kDouble);
  EXPECT_EQ(empty({2}, kMeta).device(), Device(kMeta));
  EXPECT_EQ(zeros({2}, kLong, std::nullopt, Device(kMeta), std::nullopt).scalar_type(), kLong);
  EXPECT_TRUE(ones({2}, requires_grad()).requires_grad());
  EXPECT_FALSE(ones({2}).requires_grad());
  EXPECT_THROW(empty({1}, TensorOptions().memory_format(MemoryFormat::Contiguous), MemoryFormat::Contiguous), Error);
}

TEST(Api, MethodsChooseTheOverloadOfTo) {
  const Tensor x = ones({2});
  EXPECT_EQ(x.to(kDouble).scalar_type(), kDouble);
  EXPECT_EQ(x.to(TensorOptions(kLong)).scalar_type(), kLong);
  EXPECT_EQ(x.to(Device(kMeta)).device(), Device(kMeta));
  EXPECT_EQ(x.to(zeros({1}, kInt)).scalar_type(), kInt);
}

TEST(Api, OperatorsBetweenTensorsAndNumbers) {
  const Tensor x = full({1}, 3.0);
  EXPECT_EQ((10 - x).item<float>(), 7.0f);
  EXPECT_EQ((x - 1).item<float>(), 2.0f);
  EXPECT_EQ((6 / x).item<float>(), 2.0f);
  EXPECT_EQ((-x * 2 + x).item<float>(), -3.0f);
  EXPECT_TRUE((2 < x).item<bool>());
  EXPECT_FALSE((x == 2).item<bool>());
  EXPECT_EQ((full({1}, 6) & 3).item<int64_t>(), 2);
  Tensor y = x.clone();
  y += 1;
  y *= y;
  EXPECT_EQ(y.item<float>(), 16.0f);
}

TEST(Api, StructsKnowTheirSchema) {
  EXPECT_STREQ(ops::add_Tensor::name, "aten::add");
  EXPECT_STREQ(ops::add_Tensor::overload_name, "Tensor");
  const OperatorHandle op = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  EXPECT_EQ(&op.op(), &ops::add_Tensor::symbol);
  EXPECT_EQ(op.schema().str(), ops::add_Tensor::schema_str);
  EXPECT_EQ(op.typed<ops::add_Tensor::Schema>().call(ones({1}), ones({1}), 1).item<float>(), 2.0f);
}

}  // namespace
}  // namespace shunt
