// index and index_put with tensors that differ between samples: one call for the batch, which equals the loop.
#include "tests/vmap/util.h"

#include <shunt/core/log.h>

namespace shunt::test {
namespace {

using O = std::optional<Tensor>;
using List = std::vector<O>;

Tensor within(int64_t size, std::vector<int64_t> sizes) { return randint(-size, size, sizes, TensorOptions(kLong)); }

struct Indexed {
  const char* name;
  std::function<List(const Tensor&, const Tensor&)> list;  // of an index of one dimension and one of two
};

/// Of a tensor of [4, 4, 4, 3].
std::vector<Indexed> lists() {
  const O none;
  return {
      {"the first", [=](const Tensor& i, const Tensor&) { return List{i}; }},
      {"a later one", [=](const Tensor&, const Tensor& j) { return List{none, none, j}; }},
      {"neighbours in front", [=](const Tensor& i, const Tensor& j) { return List{i, j}; }},
      {"neighbours behind", [=](const Tensor& i, const Tensor& j) { return List{none, j, i}; }},
      {"not neighbours", [=](const Tensor& i, const Tensor& j) { return List{i, none, j}; }},
      {"not neighbours, behind", [=](const Tensor& i, const Tensor&) { return List{none, i, none, i.remainder(3)}; }},
      {"one number", [=](const Tensor& i, const Tensor&) { return List{none, i[0]}; }},
      {"all", [=](const Tensor& i, const Tensor& j) { return List{i, j, i, j.remainder(3)}; }},
  };
}

/// The function gives what the loop gives, whichever arguments are batched: from the set `first` on.
void expectLoop(const Function& f, const Tensors& in, unsigned first, const std::string& name) {
  for (unsigned which = first; which < 1u << in.size(); ++which) {
    Tensors given;
    std::vector<std::optional<int64_t>> dims;
    for (size_t i = 0; i < in.size(); ++i) {
      const bool batched = (which >> i & 1) != 0;
      given.push_back(batched ? in[i].unsqueeze(-1).transpose(0, -1).squeeze(0) : in[i][0]);
      dims.push_back(batched ? std::optional<int64_t>(-1) : std::nullopt);
    }
    const Tensors expected = loop(f, given, dims), got = vmapped(f, given, dims);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t r = 0; r < got.size(); ++r)
      EXPECT_LT(distance(got[r], expected[r]), 1e-12) << name << ", arguments " << which << ", result " << r;
  }
}

TEST(VmapIndex, EqualsTheLoop) {
  manual_seed(3);
  const Tensor x = randn({3, 4, 4, 4, 3}, TensorOptions(kDouble)), i = within(4, {3, 2}), j = within(4, {3, 5, 2});
  for (const Indexed& c : lists()) {
    const Function f = [&](const Tensors& t) { return Tensors{ops::index_Tensor::call(t[0], c.list(t[1], t[2]))}; };
    expectLoop(f, {x, i, j}, 1, c.name);
    const Function gradient = [&](const Tensors& t) {
      const auto sum = [&](const Tensor& a) { return ops::index_Tensor::call(a, c.list(t[1], t[2])).pow(3).sum(); };
      return Tensors{grad(sum)(t[0]), grad([&](const Tensor& a) { return grad(sum)(a).square().sum(); })(t[0])};
    };
    expectLoop(gradient, {x, i, j}, 1, c.name);
  }
}

TEST(VmapIndex, PutEqualsTheLoop) {
  manual_seed(4);
  const Tensor x = randn({3, 4, 4, 4, 3}, TensorOptions(kDouble)), i = within(4, {3, 2}), j = within(4, {3, 5, 2});
  for (const Indexed& c : lists()) {
    const Tensor sample = ops::index_Tensor::call(x[0], c.list(i[0], j[0]));
    for (int64_t dims = 0; dims <= sample.dim(); ++dims)
      for (const bool accumulate : {false, true}) {
        std::vector<int64_t> sizes = sample.sizes().slice(static_cast<size_t>(sample.dim() - dims)).vec();
        if (dims > 1) sizes[static_cast<size_t>(dims) - 2] = 1;
        sizes.insert(sizes.begin(), 3);
        const Tensor values = randn(sizes, TensorOptions(kDouble));
        const std::string name = detail::str(c.name, ", values of ", dims, " dimensions, accumulate ", accumulate);
        const Function f = [&](const Tensors& t) {
          return Tensors{ops::index_put::call(t[0], c.list(t[1], t[2]), t[3], accumulate)};
        };
        expectLoop(f, {x, i, j, values}, 1, name);
        const Function in_place = [&](const Tensors& t) {
          Tensor written = t[0].clone();
          ops::index_put_::call(written, c.list(t[1], t[2]), t[3], accumulate);
          return Tensors{written};
        };
        expectLoop(in_place, {x, i, j, values}, 15, name);
      }
  }
}

/// Of the calls that vmap makes for a batch of three.
int64_t countOf(const char* op, const Function& f, const Tensors& in) {
  const Graph graph = trace([&](const Tensors& t) { return vmapped(f, t, {0, 0}); }, in);
  int64_t n = 0;
  for (const Graph::Node* node : graph.nodes()) n += node->name() == op;
  return n;
}

TEST(VmapIndex, IsOneCallForTheBatch) {
  const Tensor x = randn({3, 4, 5}), i = within(4, {3, 2});
  const Function get = [](const Tensors& t) {
    return Tensors{ops::index_Tensor::call(t[0], List{std::nullopt, t[1]})};
  };
  const Function put = [](const Tensors& t) {
    return Tensors{ops::index_put::call(t[0], List{std::nullopt, t[1]}, t[0][0][0], true)};
  };
  EXPECT_EQ(countOf("aten::index.Tensor", get, {x, i}), 1);
  EXPECT_EQ(countOf("aten::index_put", put, {x, i}), 1);
}

// Masks choose other numbers of elements; as long as these are the same, the loop stacks them.
TEST(VmapIndex, MasksBesideTensors) {
  const Tensor x = randn({3, 4, 5}), i = within(4, {3, 2}), mask = tensor({true, false, true, false, false});
  const Function f = [&](const Tensors& t) { return Tensors{ops::index_Tensor::call(t[0], List{t[1], mask})}; };
  expectLoop(f, {x, i}, 1, "a shared mask");
}

// No sample's gradient has a shape that depends on its mask.
TEST(VmapIndex, GradientOfTheNumberBehindAMask) {
  manual_seed(5);
  const LogSink before = set_log_sink([](LogLevel, const char*) {});  // bytes as masks are deprecated
  const Tensor x = randn({3, 4, 5, 2}, TensorOptions(kDouble)), v = randn({3}, TensorOptions(kDouble));
  const auto mask = [](std::vector<int64_t> sizes) { return randn(sizes).gt(0); };
  const std::vector<std::tuple<const char*, Tensor, List>> masks = {
      {"of the first dimension", mask({3, 4}), {}}, {"of a later one", mask({3, 5}), {std::nullopt}},
      {"of two", mask({3, 5, 2}), {std::nullopt}},  {"of all", mask({3, 4, 5, 2}), {}},
      {"bytes", mask({3, 4, 5}).to(kByte), {}},
  };
  for (const auto& [name, m, slots] : masks)
    for (const bool accumulate : {false, true})
      for (const int64_t dims : {0, 1}) {
        const auto put = [&, &slots = slots](const Tensor& self, const Tensor& m, const Tensor& number) {
          List list = slots;
          list.push_back(m);
          return ops::index_put::call(self, list, number.reshape(std::vector<int64_t>(dims, 1)), accumulate);
        };
        const auto where_true = [&, &slots = slots](const Tensor& self, const Tensor& m, const Tensor& number) {
          Tensor wide = m.to(kBool);
          while (wide.dim() + static_cast<int64_t>(slots.size()) < self.dim()) wide = wide.unsqueeze(-1);
          return where(wide, accumulate ? self + number : number, self);
        };
        const auto gradients = [](const auto& f, const Tensors& t) {
          const auto sum = [&](const Tensor& self, const Tensor& number) { return f(self, t[1], number).pow(3).sum(); };
          const auto twice = [&](const Tensor& self, const Tensor& number) {
            const std::vector<Tensor> g = grad(sum, {0, 1})(self, number);
            return g[0].square().sum() + g[1].square().sum();
          };
          Tensors all = grad(sum, {0, 1})(t[0], t[2]);
          for (const Tensor& g : grad(twice, {0, 1})(t[0], t[2])) all.push_back(g);
          return all;
        };
        const Tensors got = vmapped([&](const Tensors& t) { return gradients(put, t); }, {x, m, v}, {0, 0, 0});
        const Tensors expected = loop([&](const Tensors& t) { return gradients(where_true, t); }, {x, m, v}, {0, 0, 0});
        for (size_t r = 0; r < got.size(); ++r)
          EXPECT_LT(distance(got[r], expected[r]), 1e-12)
              << "a mask " << name << ", accumulate " << accumulate << ", gradient " << r;
      }
  set_log_sink(before);
}

TEST(VmapIndex, RefusesWhatOneSampleRefuses) {
  const Tensor x = randn({3, 4, 5}), i = within(4, {3, 2});
  const std::vector<std::pair<const char*, std::function<List(const Tensor&)>>> lists = {
      {"too many", [](const Tensor& t) { return List{t, t, t}; }},
      {"shapes that don't broadcast", [](const Tensor& t) { return List{t, zeros({3}, TensorOptions(kLong))}; }},
      {"whole numbers of another dtype", [](const Tensor& t) { return List{t.to(kShort)}; }},
      {"floating point", [](const Tensor& t) { return List{t.to(kFloat)}; }},
  };
  for (const auto& [name, list] : lists) {
    const Function get = [&list = list](const Tensors& t) {
      return Tensors{ops::index_Tensor::call(t[0], list(t[1]))};
    };
    const Function put = [&list = list](const Tensors& t) {
      return Tensors{ops::index_put::call(t[0], list(t[1]), zeros({}), false)};
    };
    for (const Function& f : {get, put}) {
      const std::string refused = errorOf([&] { loop(f, {x, i}, {0, 0}); });
      EXPECT_FALSE(refused.empty()) << name;
      EXPECT_EQ(errorOf([&] { vmapped(f, {x, i}, {0, 0}); }), refused) << name;
    }
  }
}

}  // namespace
}  // namespace shunt::test
