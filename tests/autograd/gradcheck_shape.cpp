// Gradcheck's cases of views, copies and indexing.
#include "tests/autograd/gradcheck_cases.h"

namespace shunt::test {
namespace {

/// Views are multiplied by something of their shape, so that a gradient in the wrong place shows.
template <class F>
GradcheckCase of(const char* op, std::vector<int64_t> sizes, F f) {
  return {op, [=] { return variable_list{var(sizes)}; },
          [f](const variable_list& x) {
            const Tensor y = f(x[0]);
            return variable_list{y.mul(spread(y.sizes(), 0.5, 2, 3))};
          },
          true};
}

void addViews(Cases& c) {
  c.push_back(of("alias", {2, 3}, [](const Tensor& x) { return alias(x); }));
  c.push_back(of("view", {2, 3}, [](const Tensor& x) { return x.view({3, -1}); }));
  c.push_back(of("_unsafe_view", {2, 3}, [](const Tensor& x) { return _unsafe_view(x, {6}); }));
  c.push_back(of("transpose.int", {2, 3, 2}, [](const Tensor& x) { return x.transpose(0, -2); }));
  c.push_back(of("t", {2, 3}, [](const Tensor& x) { return x.t(); }));
  c.push_back(of("permute", {2, 3, 4}, [](const Tensor& x) { return x.permute({-1, 0, 1}); }));
  c.push_back(of("expand", {1, 3}, [](const Tensor& x) { return x.expand({2, 4, 3}); }));
  c.push_back(of("squeeze", {1, 3, 1}, [](const Tensor& x) { return x.squeeze(); }));
  c.push_back(of("squeeze.dim", {1, 3, 1}, [](const Tensor& x) { return x.squeeze(-1); }));
  c.push_back(of("squeeze.dim", {1, 3}, [](const Tensor& x) { return x.squeeze(1); }));
  c.push_back(of("unsqueeze", {2, 3}, [](const Tensor& x) { return x.unsqueeze(-1); }));
  c.push_back(of("select.int", {2, 3}, [](const Tensor& x) { return x.select(-1, -2); }));
  c.push_back(of("slice.Tensor", {2, 5}, [](const Tensor& x) { return x.slice(1, 1, std::nullopt, 2); }));
  c.push_back(of("slice.Tensor", {5, 2}, [](const Tensor& x) { return x.slice(0, -3, -1); }));
  c.push_back(of("as_strided", {2, 3}, [](const Tensor& x) { return x.as_strided({2, 2}, {3, 1}, 1); }));
  c.push_back(of("as_strided", {4}, [](const Tensor& x) { return x.as_strided({2, 3}, {1, 1}, 0); }));  // overlapping
  c.push_back(of("as_strided", {4}, [](const Tensor& x) { return x.as_strided({2, 3}, {1, 0}, 2); }));
}

/// An operator with several results, of which the gradients of some are missing.
template <class F>
GradcheckCase partsOf(const char* op, std::vector<int64_t> sizes, F f) {
  return {op, [=] { return variable_list{var(sizes)}; },
          [f](const variable_list& x) {
            const std::vector<Tensor> parts = f(x[0]);
            return variable_list{parts.back().mul(spread(parts.back().sizes(), 0.5, 2, 3)), parts[0].mul(parts[0])};
          },
          true};
}

void addParts(Cases& c) {
  c.push_back(of("_reshape_alias", {2, 3}, [](const Tensor& x) { return x.reshape({3, -1}); }));
  c.push_back(of("diagonal", {3, 2, 4}, [](const Tensor& x) { return x.diagonal(1, 0, -1); }));
  c.push_back(of("diagonal", {1, 3, 1}, [](const Tensor& x) { return x.expand({2, 3, 3}).diagonal(-1, 1, 2); }));
  c.push_back(
      of("diagonal_backward", {2, 2}, [](const Tensor& g) { return diagonal_backward(g, {2, 2, 3}, 1, 1, 2); }));
  c.push_back(partsOf("split.Tensor", {2, 5}, [](const Tensor& x) { return x.split(2, 1); }));
  c.push_back(partsOf("split_with_sizes", {6, 2}, [](const Tensor& x) { return x.split_with_sizes({1, 0, 3, 2}); }));
  c.push_back(partsOf("unbind.int", {2, 3}, [](const Tensor& x) { return x.unbind(-1); }));
  c.push_back({"stack", [] { return variable_list{var({2, 3}, -2, 2, 1), var({2, 3}, -2, 2, 2)}; },
               [](const variable_list& x) {
                 return variable_list{stack(x, 1).mul(spread({2, 2, 3}, 0.5, 2, 3)), stack(x, -1)};
               }});
  c.push_back({"fill.Scalar", [] { return variable_list{var({2, 3})}; },
               [](const variable_list& x) { return variable_list{fill(x[0], 2).add(x[0])}; }, false});
  c.push_back({"fill.Tensor", [] { return variable_list{var({2, 3}), var({}, 0.5, 1)}; },
               [](const variable_list& x) { return variable_list{fill(x[0], x[1]).mul(x[0])}; }});
}

void addCopies(Cases& c) {
  c.push_back(of("clone", {2, 3}, [](const Tensor& x) { return x.clone(); }));
  c.push_back(of("_to_copy", {2, 3}, [](const Tensor& x) {
    return x.to(kFloat, false, true).to(kDouble).sub(x.to(kFloat).to(kDouble)).add(x);
  }));
  c.push_back({"cat", [] { return variable_list{var({2, 1}, -2, 2, 1), var({2, 3}, -2, 2, 2)}; },
               [](const variable_list& x) { return variable_list{cat(x, -1).mul(spread({2, 4}, 0.5, 2, 3))}; }});
  c.push_back(of("select_backward", {3}, [](const Tensor& g) { return select_backward(g, {2, 3}, 0, 1); }));
  c.push_back(of("slice_backward", {2, 2}, [](const Tensor& g) { return slice_backward(g, {2, 5}, 1, 0, 4, 2); }));
}

void addIndexing(Cases& c) {
  c.push_back(
      of("index_select", {2, 3}, [](const Tensor& x) { return x.index_select(1, tensorOf({2, 0, 2}).to(kLong)); }));
  c.push_back(of("index_select", {3}, [](const Tensor& x) { return x.index_select(0, tensorOf({1}).to(kLong)); }));
  c.push_back({"index_add", [] { return variable_list{var({2, 3}, -2, 2, 1), var({2, 2}, -2, 2, 2)}; },
               [](const variable_list& x) {
                 return variable_list{
                     x[0].index_add(1, tensorOf({2, 0}).to(kLong), x[1], 1.5).mul(spread({2, 3}, 0.5, 2, 3))};
               }});
}

/// Positions along dimension 1 of a (2, 3) tensor, one of them twice.
Tensor positions() { return tensorOf({2, 0, 2, 1}).to(kLong).reshape({2, 2}); }

void addGather(Cases& c) {
  c.push_back(of("sort", {2, 3}, [](const Tensor& x) { return std::get<0>(x.sort(1, true)); }));
  c.push_back(
      of("sort.stable", {3, 2}, [](const Tensor& x) { return std::get<0>(x.sort(std::optional<bool>(true), 0)); }));
  c.push_back(of("gather", {2, 3}, [](const Tensor& x) { return x.gather(1, positions()); }));
  c.push_back(of("gather", {}, [](const Tensor& x) { return x.gather(0, tensorOf({0, 0}).to(kLong)); }));
  c.push_back(of("gather", {2, 3}, [](const Tensor& x) { return take_along_dim(x, positions(), 1); }));
  c.push_back(of("index_select", {2, 3}, [](const Tensor& x) {  // a mask that is broadcast, and a layout of its own
    return x.t().masked_select(tensorOf({1, 0, 1}).to(kBool).unsqueeze(1));
  }));
  c.push_back(of("topk", {2, 3}, [](const Tensor& x) { return std::get<0>(x.topk(2)); }));
  c.push_back(of("topk", {3, 2}, [](const Tensor& x) { return std::get<0>(x.topk(1, 0, false)); }));
  c.push_back(of("flip", {2, 3}, [](const Tensor& x) { return x.flip({0, -1}); }));
  c.push_back(of("scatter.value", {2, 3}, [](const Tensor& x) { return x.scatter(1, positions(), 2.5); }));
}

/// Indices of dimension 0 and 2 of a (2, 3, 2) tensor, which are not neighbours, one position twice; a mask.
std::vector<std::optional<Tensor>> apart() {
  return {tensorOf({0, 1, 0}).to(kLong), std::nullopt, tensorOf({1, 0, 1}).to(kLong)};
}
std::vector<std::optional<Tensor>> masked() {
  return {std::nullopt, tensorOf({1, 0, 1, 1, 0, 0}).to(kBool).reshape({3, 2})};
}

void addIndexTensors(Cases& c) {
  c.push_back(of("index.Tensor", {2, 3, 2}, [](const Tensor& x) { return index(x, apart()); }));
  c.push_back(of("index.Tensor", {2, 3, 2},
                 [](const Tensor& x) { return index(x.transpose(1, 2).contiguous().transpose(1, 2), masked()); }));
  c.push_back(of("index_put", {2, 3, 2}, [](const Tensor& x) { return x.index_put(masked(), x[0][0][0]); }));
}

/// A gradient for `self` around the part, and one for the part.
template <class F>
GradcheckCase scatterOf(const char* op, std::vector<int64_t> sizes, std::vector<int64_t> part, F f) {
  return {op, [=] { return variable_list{var(sizes, -2, 2, 1), var(part, -2, 2, 2)}; },
          [f](const variable_list& x) {
            const Tensor y = f(x[0], x[1]);
            return variable_list{y.mul(spread(y.sizes(), 0.5, 2, 3))};
          }};
}

void addScatters(Cases& c) {
  const auto once = [] { return tensorOf({2, 0, 0, 1}).to(kLong).reshape({2, 2}); };
  c.push_back(scatterOf("scatter.src", {2, 3}, {2, 2},
                        [=](const Tensor& x, const Tensor& p) { return x.scatter(1, once(), p); }));
  for (const char* how : {"sum", "prod", "mean", "amax", "amin"})
    for (const bool include_self : {true, false})
      c.push_back(scatterOf("scatter_reduce.two", {2, 3}, {2, 2}, [=](const Tensor& x, const Tensor& p) {
        return x.scatter_reduce(1, positions(), p, how, include_self);
      }));
  c.push_back(scatterOf("scatter_add", {2, 3}, {2, 2},
                        [](const Tensor& x, const Tensor& p) { return x.scatter_add(1, positions().fill_(1), p); }));
  c.push_back(scatterOf("index_put", {2, 3, 2}, {3, 3},
                        [](const Tensor& x, const Tensor& p) { return x.index_put(apart(), p, true); }));
  c.push_back(scatterOf("index_put", {2, 3}, {1}, [](const Tensor& x, const Tensor& p) {  // broadcast
    const std::vector<std::optional<Tensor>> rows{tensorOf({1, 0}).to(kLong)};
    return x.index_put(rows, p);
  }));
  c.push_back(scatterOf("slice_scatter", {2, 5}, {2, 2},
                        [](const Tensor& x, const Tensor& p) { return slice_scatter(x, p, 1, 0, -1, 2); }));
  c.push_back(scatterOf("select_scatter", {2, 3}, {2},
                        [](const Tensor& x, const Tensor& p) { return select_scatter(x, p, -1, 1); }));
  c.push_back(scatterOf("diagonal_scatter", {3, 2}, {2},
                        [](const Tensor& x, const Tensor& p) { return diagonal_scatter(x, p, -1); }));
  c.push_back(scatterOf("as_strided_scatter", {2, 3}, {2, 2},
                        [](const Tensor& x, const Tensor& p) { return as_strided_scatter(x, p, {2, 2}, {3, 1}, 1); }));
  c.push_back(scatterOf("as_strided_scatter", {2, 3}, {2, 2}, [](const Tensor& x, const Tensor& p) {
    return as_strided_scatter(x.t(), p, {2, 2}, {3, 1}, 1);
  }));
}

// In-place forms of views.
void addInplace(Cases& c) {
  c.push_back(of("t_", {2, 3}, [](const Tensor& x) {
    Tensor y = x.clone();
    y.t_();
    return y;
  }));
  c.push_back(of("transpose_", {2, 3, 2}, [](const Tensor& x) {
    Tensor y = x.clone();
    y.transpose_(0, 1);
    return y;
  }));
  c.push_back(of("squeeze_", {1, 3}, [](const Tensor& x) {
    Tensor y = x.clone();
    y.squeeze_();
    return y;
  }));
  c.push_back(of("squeeze_.dim", {1, 3}, [](const Tensor& x) {
    Tensor y = x.clone();
    y.squeeze_(0);
    return y;
  }));
  c.push_back(of("unsqueeze_", {2, 3}, [](const Tensor& x) {
    Tensor y = x.clone();
    y.unsqueeze_(1);
    return y;
  }));
  c.push_back(of("as_strided_", {2, 3}, [](const Tensor& x) {
    Tensor y = x.clone();
    y.as_strided_({2, 2}, {3, 1}, 0);
    return y;
  }));
}

}  // namespace

Cases shapeCases() {
  Cases c;
  addViews(c);
  addParts(c);
  addCopies(c);
  addScatters(c);
  addIndexing(c);
  addGather(c);
  addIndexTensors(c);
  addInplace(c);
  return c;
}

}  // namespace shunt::test
