// jit::clear() under what calls in thunks have made: graphs, saved tensors, hooks, views, custom functions. Everything
// is used and destroyed after the code that made it is gone, and other code has come to its place.
#include "tests/diff/many_calls.h"
#include "tests/diff/thunks.h"

#include <shunt/autograd/custom_function.h>
#include <shunt/autograd/engine.h>

#include <gtest/gtest.h>

namespace diff {
namespace {

using namespace shunt;
using autograd::AutogradContext;
using autograd::variable_list;

/// Drops all thunks, frees their code, and lets other thunks take its place.
void clearAndRefill() {
  jit::clear();
  Dispatcher::singleton().reclaim();
  for (int i = 0; i < 2; ++i) numbers({3, 5}, kDouble).add(1).exp().neg().sum();
}

struct Doubled : autograd::Function<Doubled> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& w) {
    ctx->save_for_backward({x, w});
    return x.mul(w).add(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    return {grads[0].mul(saved[1]).add(grads[0]), grads[0].mul(saved[0])};
  }
};

/// What is left to do with a forward pass, and what comes of it, as bytes.
struct Pass {
  const char* name;
  /// Makes the graph and returns the rest: what uses it.
  std::function<std::function<std::string()>()> make;
};

Tensor leafOf(std::initializer_list<int64_t> sizes) { return numbers(sizes).requires_grad_(); }

const Pass kPasses[] = {
    {"backward",
     [] {
       const Tensor x = leafOf({8, 8}), w = numbers({8, 8});
       const Tensor y = x.mm(w).add(x).relu().sigmoid().mul(x).t().sum();
       return [=] { return y.backward(), bytesOf(x.grad()); };
     }},
    {"retained graph, twice",
     [] {
       const Tensor x = leafOf({4, 8});
       const Tensor y = x.exp().mul(x).sum();
       return [=] {
         y.backward({}, true);
         clearAndRefill();
         return y.backward(), bytesOf(x.grad());
       };
     }},
    {"create_graph",
     [] {
       const Tensor x = leafOf({4, 8});
       const Tensor y = x.mul(x).mul(x).sigmoid().sum();
       return [=] {
         const Tensor g = autograd::grad({y}, {x}, {}, std::nullopt, true)[0];
         clearAndRefill();  // the second graph was made by backward formulas' own calls
         g.mul(g).sum().backward();
         return bytesOf(g.detach()) + bytesOf(x.grad());
       };
     }},
    {"hooks of tensors and nodes, retain_grad",
     [] {
       const Tensor x = leafOf({4, 8});
       const Tensor h = x.mul(2), k = h.add(x);
       h.register_hook([](const Tensor& g) { return g.mul(3).add(g); });
       x.register_hook([](const Tensor& g) { return g.neg(); });
       k.grad_fn()->add_pre_hook([](const variable_list& g) { return variable_list{g[0].mul(0.5)}; });
       k.retain_grad();
       const Tensor y = k.exp().sum();
       return [=] { return y.backward(), bytesOf(x.grad()) + bytesOf(k.grad()); };
     }},
    {"views and in-place operators",
     [] {
       const Tensor x = leafOf({4, 8});
       const Tensor base = x.clone();
       base.t().select(0, 1).mul_(2);
       base.view({8, 4}).add_(1);
       const Tensor y = base.mul(base).sum();
       return [=] { return y.backward(), bytesOf(x.grad()); };
     }},
    {"saved tensors of a custom function",
     [] {
       const Tensor x = leafOf({4, 8}), w = leafOf({4, 8});
       const Tensor y = Doubled::apply(x, w).sigmoid().sum();
       return [=] { return y.backward(), bytesOf(x.grad()) + bytesOf(w.grad()); };
     }},
    {"autocast",
     [] {
       const Tensor x = leafOf({8, 8}), w = leafOf({8, 8});
       AutocastGuard autocast(kCPU);
       const Tensor y = x.mm(w).to(kFloat).sum();
       return [=] { return y.backward(), bytesOf(x.grad()) + bytesOf(w.grad()); };
     }},
    {"tensors alone",
     [] {
       const Tensor a = numbers({4, 8});
       const Tensor sum = a.add(a), view = sum.t();
       return [=] { return bytesOf(view.add(sum.t())); };
     }},
    {"a saved tensor that was changed",
     [] {
       const Tensor x = leafOf({4, 8});
       const Tensor h = x.exp();
       const Tensor y = h.sum();
       h.detach().add_(1);
       return [=]() -> std::string {
         try {
           y.backward();
           h.backward(numbers({4, 8}));
         } catch (const Error& e) {
           return e.what();
         }
         return "no error";
       };
     }},
};

class ClearUnder : public testing::TestWithParam<Pass> {};

TEST_P(ClearUnder, WhatThunksMadeAndItIsUsedAfterwards) {
  jit::set_enabled(false);
  const std::string expected = GetParam().make()();
  jit::set_enabled(true);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(GetParam().make()(), expected);  // compiles the backward pass too
  const uint64_t before = jit::calls_in_thunks();
  auto rest = GetParam().make();
  auto unused = GetParam().make();  // a graph that nobody goes through
  EXPECT_GT(jit::calls_in_thunks(), before) << "nothing that thunks made would be tested";
  clearAndRefill();
  EXPECT_EQ(rest(), expected);
  clearAndRefill();
  rest = {};
  unused = {};
  jit::clear();
  EXPECT_TRUE(published().empty());
}

INSTANTIATE_TEST_SUITE_P(Jit, ClearUnder, testing::ValuesIn(kPasses), [](const auto& pass) {
  std::string name = pass.param.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

// The calls' frames hold the worlds that they began in, so their thunks' code stays until they return.
TEST(Clear, InsideAHookOfABackwardPassThatRunsInThunks) {
  const auto pass = [](bool clear) {
    const Tensor x = leafOf({4, 8});
    const Tensor h = x.mul(x);
    h.register_hook([&](const Tensor& g) {
      if (clear) clearAndRefill();
      return g.add(g);
    });
    h.sigmoid().sum().backward();
    return bytesOf(x.grad());
  };
  jit::set_enabled(false);
  const std::string expected = pass(false);
  jit::set_enabled(true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pass(false), expected);
  EXPECT_EQ(pass(true), expected);
}

}  // namespace
}  // namespace diff
