// View operators: sizes, strides, offset and shared storage, and which ones have no view.
#include "tests/shape/util.h"

namespace shunt {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using testing::errorOf;
using testing::iota;
using testing::valuesOf;

struct ViewCase {
  const char* name;
  std::function<Tensor(const Tensor&)> view;
  std::vector<int64_t> sizes, strides;
  int64_t offset;
};

void expectViews(const Tensor& base, const std::vector<ViewCase>& cases) {
  for (const ViewCase& c : cases) {
    SCOPED_TRACE(c.name);
    const Tensor v = c.view(base);
    EXPECT_EQ(v.sizes().vec(), c.sizes);
    EXPECT_EQ(v.strides().vec(), c.strides);
    EXPECT_EQ(v.storage_offset(), c.offset);
    EXPECT_TRUE(v.is_alias_of(base));
    EXPECT_FALSE(v.is_same(base));
    EXPECT_EQ(v.dtype(), base.dtype());
  }
}

TEST(View, GeometryOfThreeDimensions) {
  const Tensor base = iota({2, 3, 4});
  expectViews(base,
              {
                  {"alias", [](auto& t) { return shunt::alias(t); }, {2, 3, 4}, {12, 4, 1}, 0},
                  {"detach", [](auto& t) { return t.detach(); }, {2, 3, 4}, {12, 4, 1}, 0},
                  {"view", [](auto& t) { return t.view({6, 4}); }, {6, 4}, {4, 1}, 0},
                  {"view -1", [](auto& t) { return t.view({-1, 2}); }, {12, 2}, {2, 1}, 0},
                  {"view adds ones", [](auto& t) { return t.view({1, 24, 1}); }, {1, 24, 1}, {24, 1, 1}, 0},
                  {"transpose", [](auto& t) { return t.transpose(0, 2); }, {4, 3, 2}, {1, 4, 12}, 0},
                  {"transpose negative", [](auto& t) { return t.transpose(-1, -2); }, {2, 4, 3}, {12, 1, 4}, 0},
                  {"transpose same", [](auto& t) { return t.transpose(1, 1); }, {2, 3, 4}, {12, 4, 1}, 0},
                  {"permute", [](auto& t) { return t.permute({2, 0, 1}); }, {4, 2, 3}, {1, 12, 4}, 0},
                  {"permute negative", [](auto& t) { return t.permute({-1, 0, -2}); }, {4, 2, 3}, {1, 12, 4}, 0},
                  {"unsqueeze front", [](auto& t) { return t.unsqueeze(0); }, {1, 2, 3, 4}, {24, 12, 4, 1}, 0},
                  {"unsqueeze back", [](auto& t) { return t.unsqueeze(-1); }, {2, 3, 4, 1}, {12, 4, 1, 1}, 0},
                  {"unsqueeze middle", [](auto& t) { return t.unsqueeze(1); }, {2, 1, 3, 4}, {12, 12, 4, 1}, 0},
                  {"select", [](auto& t) { return t.select(1, 2); }, {2, 4}, {12, 1}, 8},
                  {"select negative", [](auto& t) { return t.select(-1, -1); }, {2, 3}, {12, 4}, 3},
                  {"index", [](auto& t) { return t[1]; }, {3, 4}, {4, 1}, 12},
                  {"slice", [](auto& t) { return t.slice(2, 1, 4, 2); }, {2, 3, 2}, {12, 4, 2}, 1},
                  {"slice open", [](auto& t) { return t.slice(1); }, {2, 3, 4}, {12, 4, 1}, 0},
                  {"slice negative", [](auto& t) { return t.slice(1, -2, -1); }, {2, 1, 4}, {12, 4, 1}, 4},
                  {"slice clamps", [](auto& t) { return t.slice(1, -100, 100); }, {2, 3, 4}, {12, 4, 1}, 0},
                  {"slice backwards is empty", [](auto& t) { return t.slice(1, 2, 1); }, {2, 0, 4}, {12, 4, 1}, 8},
                  {"slice wide step",
                   [](auto& t) { return t.slice(2, 0, 4, int64_t{1} << 40); },
                   {2, 3, 1},
                   {12, 4, int64_t{1} << 40},
                   0},
                  {"narrow", [](auto& t) { return t.narrow(2, 1, 2); }, {2, 3, 2}, {12, 4, 1}, 1},
                  {"narrow negative start", [](auto& t) { return t.narrow(0, -1, 1); }, {1, 3, 4}, {12, 4, 1}, 12},
                  {"narrow nothing", [](auto& t) { return t.narrow(0, 2, 0); }, {0, 3, 4}, {12, 4, 1}, 24},
                  {"diagonal", [](auto& t) { return t.diagonal(1, 1, 2); }, {2, 3}, {12, 5}, 1},
                  {"diagonal below", [](auto& t) { return t.diagonal(-2, 1, 2); }, {2, 1}, {12, 5}, 8},
                  {"diagonal far", [](auto& t) { return t.diagonal(-9, 1, 2); }, {2, 0}, {12, 5}, 0},
                  {"as_strided", [](auto& t) { return t.as_strided({3, 2}, {1, 3}, 4); }, {3, 2}, {1, 3}, 4},
                  {"flatten", [](auto& t) { return t.flatten(1); }, {2, 12}, {12, 1}, 0},
              });
}

TEST(View, SqueezeAndExpand) {
  expectViews(
      iota({1, 3, 1, 2}),
      {
          {"squeeze", [](auto& t) { return t.squeeze(); }, {3, 2}, {2, 1}, 0},
          {"squeeze one", [](auto& t) { return t.squeeze(2); }, {1, 3, 2}, {6, 2, 1}, 0},
          {"squeeze not one", [](auto& t) { return t.squeeze(1); }, {1, 3, 1, 2}, {6, 2, 2, 1}, 0},
          {"expand", [](auto& t) { return t.expand({5, 3, 4, 2}); }, {5, 3, 4, 2}, {0, 2, 0, 1}, 0},
          {"expand -1", [](auto& t) { return t.expand({7, -1, -1, 4, -1}); }, {7, 1, 3, 4, 2}, {0, 6, 2, 0, 1}, 0},
          {"expand_as", [](auto& t) { return t.expand_as(iota({1, 3, 2, 2})); }, {1, 3, 2, 2}, {6, 2, 0, 1}, 0},
      });
  EXPECT_EQ(iota({3}).expand({2, 3}).strides().vec(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(iota({3}).expand({1, 3}).strides().vec(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(iota({1}).expand({0}).numel(), 0);
}

TEST(View, ZeroDimensionsAndEmpty) {
  const Tensor scalar = iota({});
  EXPECT_EQ(scalar.view({1, 1}).sizes().vec(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(scalar.squeeze(0).dim(), 0);
  EXPECT_EQ(scalar.squeeze(-1).dim(), 0);
  EXPECT_EQ(scalar.unsqueeze(-1).dim(), 1);
  EXPECT_EQ(scalar.transpose(0, -1).dim(), 0);
  EXPECT_EQ(scalar.t().dim(), 0);
  EXPECT_EQ(scalar.flatten().sizes().vec(), (std::vector<int64_t>{1}));
  EXPECT_EQ(scalar.expand({2, 2}).numel(), 4);
  const Tensor empty = iota({0, 3});
  EXPECT_EQ(empty.view({3, 0, 2}).strides().vec(), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(empty.view({-1, 3}).sizes().vec(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(empty.t().sizes().vec(), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(empty.slice(0, 0, 5).size(0), 0);
}

TEST(View, ReshapeSharesWhereItCan) {
  const Tensor base = iota({2, 3, 4});
  EXPECT_TRUE(base.reshape({4, 6}).is_alias_of(base));
  EXPECT_TRUE(base.transpose(0, 1).reshape({3, 2, 2, 2}).is_alias_of(base));
  const Tensor copied = base.transpose(0, 2).reshape({12, 2});
  EXPECT_FALSE(copied.is_alias_of(base));
  EXPECT_EQ(valuesOf(copied), valuesOf(base.transpose(0, 2)));
  EXPECT_EQ(valuesOf(base.permute({1, 0, 2}).flatten()), valuesOf(base.permute({1, 0, 2})));
  EXPECT_TRUE(base.flatten(1, 1).is_same(base));
  EXPECT_EQ(base.reshape_as(iota({24})).dim(), 1);
}

// Every way to factor 12 elements against every small strided layout: a view exists exactly when the elements'
// addresses can be written with constant strides, and then it shows them in order.
TEST(View, StridesShowTheSameElementsInOrder) {
  const Tensor store = iota({12});
  const std::vector<Tensor> layouts = {store.view({3, 4}),
                                       store.view({3, 4}).t(),
                                       store.view({2, 3, 2}).permute({1, 0, 2}),
                                       store.view({1, 12}).t(),
                                       store.slice(0, 0, 12, 2).view({2, 3}),
                                       store.view({12, 1})[3].expand({4}),
                                       store.view({2, 2, 3}).transpose(0, 1)};
  const std::vector<std::vector<int64_t>> shapes = {
      {12},      {6},       {4},    {3, 4}, {4, 3}, {2, 6},     {6, 2},
      {2, 2, 3}, {3, 2, 2}, {2, 3}, {3, 2}, {2, 2}, {1, 12, 1}, {1, 2, 1, 3, 1, 2},
      {1, 4}};
  int shared = 0;
  for (const Tensor& t : layouts) {
    for (const auto& shape : shapes) {
      if (detail::checkedNumel("test", shape) != t.numel()) continue;
      EXPECT_EQ(valuesOf(t.reshape(shape)), valuesOf(t));
      if (errorOf([&] { t.view(shape); }) != "no error") continue;
      EXPECT_TRUE(t.view(shape).is_alias_of(t));
      EXPECT_EQ(valuesOf(t.view(shape)), valuesOf(t));
      ++shared;
    }
  }
  EXPECT_GT(shared, 20);
}

TEST(View, InPlaceFormsChangeTheHandle) {
  Tensor t = iota({2, 3});
  EXPECT_TRUE(t.transpose_(0, 1).is_same(t));
  EXPECT_EQ(t.sizes().vec(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(t.strides().vec(), (std::vector<int64_t>{1, 3}));
  t.t_();
  EXPECT_EQ(t.strides().vec(), (std::vector<int64_t>{3, 1}));
  t.unsqueeze_(1);
  EXPECT_EQ(t.sizes().vec(), (std::vector<int64_t>{2, 1, 3}));
  t.squeeze_(0);
  EXPECT_EQ(t.dim(), 3);
  t.squeeze_();
  EXPECT_EQ(t.sizes().vec(), (std::vector<int64_t>{2, 3}));
  // Arguments that live in the tensor itself.
  t.as_strided_(t.strides(), t.sizes(), 1);
  EXPECT_EQ(t.sizes().vec(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(t.strides().vec(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(t.storage_offset(), 1);
}

TEST(View, WritesAreSeenThroughTheBaseAndCounted) {
  const Tensor base = iota({2, 3});
  Tensor row = base.select(0, 1);
  row.fill_(7);
  EXPECT_THAT(valuesOf(base), ElementsAre(0, 1, 2, 7, 7, 7));
  EXPECT_EQ(base._version(), row._version());
  EXPECT_GT(base._version(), 0);
  EXPECT_EQ(base.detach()._version(), base._version());
}

TEST(View, PartsCoverTheTensor) {
  const Tensor t = iota({7, 2});
  const auto sizes = [](const std::vector<Tensor>& parts) {
    std::vector<int64_t> out;
    for (const Tensor& p : parts) out.push_back(p.size(0));
    return out;
  };
  EXPECT_THAT(sizes(t.split(3)), ElementsAre(3, 3, 1));
  EXPECT_THAT(sizes(t.split(9)), ElementsAre(7));
  EXPECT_THAT(sizes(t.chunk(3)), ElementsAre(3, 3, 1));
  EXPECT_THAT(sizes(t.chunk(5)), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(sizes(t.split_with_sizes({0, 5, 2})), ElementsAre(0, 5, 2));
  EXPECT_EQ(t.unbind().size(), 7u);
  EXPECT_EQ(t.unbind(1)[1].strides().vec(), (std::vector<int64_t>{2}));
  EXPECT_EQ(valuesOf(t.split(3)[2]), counted(2, 12));
  EXPECT_EQ(iota({0, 2}).chunk(3).size(), 3u);
  EXPECT_EQ(iota({0, 2}).split(4).size(), 1u);
  EXPECT_EQ(iota({0, 2}).split(0).size(), 1u);
}

TEST(View, EmptyTensorsAreContiguousWhateverTheirStrides) {
  const Tensor t = iota({4}).as_strided({2, 0, 3}, {1, 5, 2}, 3);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.contiguous().is_same(t));
}

TEST(View, ChannelsLastIsSuggestedForSpacedTensorsToo) {
  const Tensor spaced = iota({96}).as_strided({3, 2, 2, 2}, {24, 3, 12, 6});
  EXPECT_EQ(spaced.suggest_memory_format(), MemoryFormat::ChannelsLast);
  EXPECT_EQ(cat({spaced}, 2).strides().vec(), (std::vector<int64_t>{8, 1, 4, 2}));
  EXPECT_EQ(iota({2, 3, 1, 1}).suggest_memory_format(), MemoryFormat::Contiguous);
  EXPECT_EQ(iota({96}).as_strided({3, 2, 2, 2}, {3, 24, 12, 6}).suggest_memory_format(), MemoryFormat::Contiguous);
}

TEST(View, ChannelsLastIsSuggestedForOneChannelByItsStride) {
  const Tensor last = iota({12}).as_strided({2, 1, 2, 3}, {6, 1, 3, 1});
  EXPECT_TRUE(last.is_contiguous());
  EXPECT_EQ(last.suggest_memory_format(), MemoryFormat::ChannelsLast);
  EXPECT_EQ(cat({last, last}, 1).strides().vec(), (std::vector<int64_t>{12, 1, 6, 2}));
  EXPECT_EQ(cat({last, iota({2, 1, 2, 3})}, 1).strides().vec(), (std::vector<int64_t>{12, 6, 3, 1}));
  EXPECT_EQ(iota({2, 1, 2, 3}).suggest_memory_format(), MemoryFormat::Contiguous);
}

TEST(View, WorksOnMeta) {
  const Tensor t = shunt::empty({2, 3}, TensorOptions(kMeta));
  EXPECT_EQ(t.t().sizes().vec(), (std::vector<int64_t>{3, 2}));
  EXPECT_TRUE(t.view({6}).is_meta());
  EXPECT_EQ(t.t().reshape({6}).sizes().vec(), (std::vector<int64_t>{6}));
}

TEST(View, MoreThanFiveDimensions) {
  const Tensor t = iota({1, 2, 1, 3, 1, 2, 2});
  EXPECT_EQ(valuesOf(t.permute({6, 5, 4, 3, 2, 1, 0}).permute({6, 5, 4, 3, 2, 1, 0})), counted(24));
  EXPECT_EQ(t.squeeze().sizes().vec(), (std::vector<int64_t>{2, 3, 2, 2}));
  EXPECT_EQ(t.unsqueeze(3).dim(), 8);
  EXPECT_EQ(t.view({24}).view({2, 2, 2, 1, 1, 3}).dim(), 6);
}

}  // namespace
}  // namespace shunt
