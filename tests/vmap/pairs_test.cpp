// vmap and grad in pairs with other transforms, in both orders: modes in the kernels' place, functionalization, tensor
// subclasses, fake tensors; and what a function may write. The oracle is the program without the other transform.
#include "tests/support/wrapper.h"
#include "tests/vmap/util.h"

#include <shunt/compile/compile.h>
#include <shunt/interpose/dispatch_mode.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <utility>

namespace shunt::test {
namespace {

using test::Wrapper;

Tensor numbers(IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return arange(n).to(kFloat).add(1).div(7).view(sizes);
}

using Named = std::pair<const char*, std::function<Tensor(const Tensor&)>>;

// ---- modes in the kernels' place ----------------------------------------------------------------------------------
struct Pass : DispatchMode {
  explicit Pass(Level level) : at(level) {}
  Level level() const override { return at; }
  void handle(const OperatorHandle& op, Stack* stack) override {
    composites += op.operator_name().name == "aten::linear" || op.operator_name().name == "aten::square";
    ++calls;
    op.callBoxed(stack);
  }
  Level at;
  int calls = 0, composites = 0;
};

const std::vector<Named>& composites() {
  static const std::vector<Named> all = {
      {"linear", [](const Tensor& x) { return linear(x, x).sum(); }},
      {"to", [](const Tensor& x) { return (x * x).to(kDouble).sum(); }},
      {"reshape", [](const Tensor& x) { return (x.reshape({4}) * x.reshape({4})).sum(); }},
      {"square", [](const Tensor& x) { return x.square().sum(); }},
      {"matmul", [](const Tensor& x) { return x.matmul(x[0]).sum(); }},
      {"softmax", [](const Tensor& x) { return (x.softmax(-1) * x).sum(); }},
      {"layer_norm", [](const Tensor& x) { return (layer_norm(x, {2}, x[0], x[1], 1e-5) * x).sum(); }},
      {"cross_entropy", [](const Tensor& x) { return cross_entropy_loss(x, zeros({2}, TensorOptions(kLong))); }},
      {"jacrev", [](const Tensor& x) { return jacrev([](const Tensor& t) { return t.square(); })(x).sum(); }},
      {"mm", [](const Tensor& x) { return x.mm(x).sum(); }},
  };
  return all;
}

TEST(Pairs, AModeInTheKernelsPlaceKeepsGradientsOfComposites) {
  const Tensor x = numbers({2, 2}), batch = numbers({3, 2, 2});
  for (const auto level : {DispatchMode::Level::kCall, DispatchMode::Level::kKernel})
    for (const auto& [name, f] : composites()) {
      SCOPED_TRACE(name);
      const Tensor one = grad(f)(x), each = vmap(grad(f))(batch);
      Pass around(level), inside(level), around_batch(level);
      {
        const DispatchModeGuard on(around);
        EXPECT_TRUE(sameBits(grad(f)(x), one));
      }
      {
        const DispatchModeGuard on(around_batch);
        EXPECT_TRUE(sameBits(vmap(grad(f))(batch), each));
      }
      EXPECT_TRUE(sameBits(grad([&](const Tensor& t) {
                             const DispatchModeGuard on(inside);
                             return f(t);
                           })(x),
                           one));
      EXPECT_GT(inside.calls, 0);
      if (level == DispatchMode::Level::kKernel) {
        EXPECT_EQ(around.composites + inside.composites, 0);
      }
    }
}

TEST(Pairs, ACompiledGradientUnderAModeInTheKernelsPlace) {
  const Tensor x = numbers({2, 2});
  const auto f = [](const Tensor& t) { return linear(t, t).softmax(-1).square().sum(); };
  auto compiled = compile(grad(f));
  const Tensor expected = grad(f)(x);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(sameBits(compiled(x), expected));
  Pass mode(DispatchMode::Level::kKernel);
  const DispatchModeGuard on(mode);
  EXPECT_TRUE(sameBits(compiled(x), expected));
  EXPECT_GT(mode.calls, 0);
}

// ---- functionalization and subclasses further out -----------------------------------------------------------------
TEST(Pairs, FunctionalizeAroundWhatMeetsOtherTensors) {
  const Tensor x = numbers({2, 2}), w = numbers({2, 2}).exp(), p = numbers({2, 2}).requires_grad_();
  const std::vector<Named> all = {
      {"captured", [&](const Tensor& t) { return grad([&](const Tensor& u) { return (u * w).sum(); })(t); }},
      {"captured parameter", [&](const Tensor& t) { return grad([&](const Tensor& u) { return (u * p).sum(); })(t); }},
      {"captured argument", [&](const Tensor& t) { return grad([&](const Tensor& u) { return (u * t).sum(); })(t); }},
      {"not differentiated",
       [](const Tensor& t) { return grad([](const Tensor& u, const Tensor& v) { return (u * v).sum(); })(t, t * 2); }},
      {"factory", [](const Tensor& t) { return grad([](const Tensor& u) { return (u * ones({2, 2})).sum(); })(t); }},
      {"written factory",
       [](const Tensor& t) {
         return grad([](const Tensor& u) {
           Tensor y = zeros({2, 2});
           y[0].add_(u[1]);
           return (y * u).sum();
         })(t);
       }},
      {"hessian", [](const Tensor& t) { return hessian([](const Tensor& u) { return (u * u * u).sum(); })(t); }},
      {"grad of jacrev",
       [](const Tensor& t) {
         return grad([](const Tensor& u) { return jacrev([](const Tensor& v) { return v.sin(); })(u).sum(); })(t);
       }},
      {"index_select",
       [](const Tensor& t) {
         return grad([](const Tensor& u) { return u.index_select(0, tensor({1, 1})).sum(); })(t);
       }},
      {"a written gradient",
       [](const Tensor& t) {
         Tensor g = grad([](const Tensor& u) { return (u * u).sum(); })(t);
         g[0].mul_(t[1]);
         return g;
       }},
      {"vmap, unbatched",
       [](const Tensor& t) {
         return vmap([](const Tensor& u, const Tensor& v) { return u * v[0]; }, {.in_dims = {0, std::nullopt}})(t, t);
       }},
      {"vmap, factory", [](const Tensor& t) { return vmap([](const Tensor& u) { return u * ones({2}); })(t); }},
      {"vmap of grad",
       [](const Tensor& t) {
         return vmap(grad([](const Tensor& u) {
           Tensor y = u * ones({2});
           y.slice(0, 0, 1).mul_(u[1]);
           return (y * u).sum();
         }))(t);
       }},
  };
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    const Tensor expected = f(x);
    EXPECT_TRUE(sameBits(functionalize(f)(x), expected));
    const FunctionalizeGuard guard;
    const Tensor result = f(to_functional(x));
    EXPECT_TRUE(is_functional(result));
    EXPECT_TRUE(sameBits(is_functional(result) ? from_functional(result) : result, expected));
  }
}

TEST(Pairs, FunctionalizeAroundWritesToItsArgument) {
  Tensor x = numbers({2, 2}), y = x.clone();
  const auto f = [](const Tensor& t) {
    Tensor u = t;
    u[0].mul_(2);
    return grad([&](const Tensor& v) { return (v * u).sum(); })(t) + u;
  };
  EXPECT_TRUE(sameBits(functionalize(f)(x), f(y)));
  EXPECT_TRUE(sameBits(x, y));
}

TEST(Pairs, CapturedSubclassesAreConstants) {
  const Tensor x = numbers({2, 2}), w = numbers({2, 2}).exp(), row = numbers({2});
  const Tensor wrapped = wrap<Wrapper>(w), wrapped_row = wrap<Wrapper>(row);
  const auto product = [](const Tensor& a, const Tensor& b) { return (a * b).softmax(-1).square().sum(); };
  const auto by = [&](const Tensor& b) { return [&](const Tensor& a) { return product(a, b); }; };
  Wrapper::calls = 0;
  EXPECT_TRUE(sameBits(unwrap<Wrapper>(grad(by(wrapped))(x)), grad(by(w))(x)));
  EXPECT_GT(Wrapper::calls, 0);
  EXPECT_TRUE(sameBits(unwrap<Wrapper>(grad(product)(x, wrapped)), grad(product)(x, w)));
  EXPECT_TRUE(sameBits(unwrap<Wrapper>(hessian(by(wrapped))(x)), hessian(by(w))(x)));
  EXPECT_TRUE(sameBits(unwrap<Wrapper>(vmap(by(wrapped_row))(x)), vmap(by(row))(x)));
  const VmapOptions unbatched{.in_dims = {0, std::nullopt}};
  EXPECT_TRUE(sameBits(unwrap<Wrapper>(vmap(product, unbatched)(x, wrapped_row)), vmap(product, unbatched)(x, row)));
  EXPECT_TRUE(sameBits(unwrap<Wrapper>(vmap(grad(product), unbatched)(x, wrapped_row)),
                       vmap(grad(product), unbatched)(x, row)));
}

TEST(Pairs, AWrapperThatTheFunctionMadeAroundItsTensorsIsNoResult) {
  const Tensor x = numbers({2});
  const auto wrapping = [](const Tensor& t) { return (wrap<Wrapper>(t) * 2).sum(); };
  const auto functional = [](const Tensor& t) { return to_functional(t).mul(2).sum(); };
  EXPECT_NE(errorOf([&] { grad(wrapping)(x); }).find("is a TensorSubclass around a tensor of the function"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { grad(functional)(x); }).find("is a functional tensor around a tensor of the function"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { vmap(wrapping)(numbers({2, 2})); }).find("is a TensorSubclass around a batched tensor"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { vmap(functional)(numbers({2, 2})); }).find("is a functional tensor around a batched tensor"),
            std::string::npos);
  EXPECT_TRUE(sameBits(grad([&](const Tensor& t) { return unwrap<Wrapper>(wrapping(t)); })(x), full({2}, 2.f)));
  EXPECT_TRUE(sameBits(grad([&](const Tensor& t) { return from_functional(functional(t)); })(x), full({2}, 2.f)));
}

// ---- functionalize inside -----------------------------------------------------------------------------------------
/// Functions of a 2 x 2 tensor that write; autograd can differentiate them.
const std::vector<Named>& writing() {
  static const std::vector<Named> all = {
      {"view select",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.view({2, 2, 1}).select(1, 0).mul_(3);
         return y * y;
       }},
      {"transpose_",
       [](const Tensor& x) {
         Tensor y = x * 2;
         y.transpose_(0, 1);
         y[0].add_(x[1]);
         return y * x;
       }},
      {"diagonal",
       [](const Tensor& x) {
         Tensor y = x.sin();
         y.diagonal().fill_(2);
         return y * x;
       }},
      {"a view seen",
       [](const Tensor& x) {
         Tensor y = x * 1;
         Tensor v = y.slice(1, 0, 1);
         y.add_(x);
         return v * y;
       }},
      {"expanded",
       [](const Tensor& x) {
         Tensor y = x[0] * 1;
         Tensor e = y.expand({2, 2});
         y.mul_(3);
         return e * x;
       }},
      {"reshape",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.reshape({4}).mul_(x.reshape({4}));
         return y * y;
       }},
      {"contiguous",
       [](const Tensor& x) {
         Tensor y = x * 1;
         Tensor v = y.contiguous();
         v.mul_(2);
         return y * x;
       }},
      {"zeros_like",
       [](const Tensor& x) {
         Tensor y = zeros_like(x);
         y[0].add_(x[1]);
         return y * x;
       }},
      {"zero_",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y[0].zero_();
         return y * x;
       }},
      {"without grad mode",
       [](const Tensor& x) {
         Tensor y = x * 1;
         {
           const NoGradGuard off;
           y[0].mul_(2);
         }
         return y * y;
       }},
      {"detached",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.detach()[0].mul_(2);
         return y * x;
       }},
      {"index_put_",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.t().index_put_({tensor({0})}, x[0]);
         return y * x;
       }},
  };
  return all;
}

TEST(Pairs, FunctionalizeInsideSeesWritesThroughViews) {
  const Tensor batch = numbers({2, 2, 2}), x = batch[1];
  for (const auto& [name, f] : writing()) {
    SCOPED_TRACE(name);
    const auto plain = [&f = f](const Tensor& t) { return f(t).sum(); };
    const auto functional = [&f = f](const Tensor& t) { return functionalize(f)(t).sum(); };
    EXPECT_TRUE(sameBits(grad(functional)(x), grad(plain)(x)));
    EXPECT_TRUE(sameBits(vmap(grad(functional))(batch), vmap(grad(plain))(batch)));
    EXPECT_TRUE(sameBits(hessian(functional)(x), hessian(plain)(x)));
    const auto whole = [](const auto& g) { return [&](const Tensor& t) { return vmap(g)(t).sum(); }; };
    EXPECT_TRUE(sameBits(grad(whole(functional))(batch), grad(whole(plain))(batch)));
    // The other order.
    EXPECT_TRUE(sameBits(functionalize(grad(plain))(x), grad(plain)(x)));
    EXPECT_TRUE(sameBits(functionalize(hessian(plain))(x), hessian(plain)(x)));
    EXPECT_TRUE(sameBits(functionalize(vmap(grad(plain)))(batch), vmap(grad(plain))(batch)));
    for (int64_t dim = 0; dim < 3; ++dim) {
      const auto gradient = [&](const auto& g) {
        const Tensor leaf = batch.clone().requires_grad_();
        const Tensor y = vmap(g, {.in_dims = {dim}})(leaf * 1);
        (y * y).sum().backward();
        return std::pair(y.detach(), leaf.grad());
      };
      const auto expected = gradient(f), got = gradient([&f = f](const Tensor& t) { return functionalize(f)(t); });
      EXPECT_TRUE(sameBits(got.first, expected.first)) << dim;
      EXPECT_TRUE(sameBits(got.second, expected.second)) << dim;
    }
  }
}

TEST(Pairs, FunctionalizeInsideVmapWritesToArguments) {
  for (int64_t dim = 0; dim < 2; ++dim) {
    const Tensor x = numbers({3, 2, 2}), y = x.clone();
    const auto f = [](const Tensor& t) {
      Tensor u = t;
      u.t()[0].mul_(u[1]);
      return u + 0;
    };
    const auto functional = [&](const Tensor& t) { return functionalize(f)(t); };
    if (dim == 1) continue;  // samples of 3 x 2: u.t()[0] is a column
    EXPECT_TRUE(sameBits(vmap(functional, {.in_dims = {dim}})(x), vmap(f, {.in_dims = {dim}})(y)));
    EXPECT_TRUE(sameBits(x, y));
  }
}

TEST(Pairs, BatchesInOneMemoryAreRivals) {
  Tensor x = numbers({2, 2});
  const auto f = [](const Tensor& a, const Tensor& b) {
    Tensor u = a;
    u.mul_(2);
    return u + b;
  };
  const auto functional = [&](const Tensor& a, const Tensor& b) { return functionalize(f)(a, b); };
  EXPECT_NE(errorOf([&] { vmap(functional, {.in_dims = {0, 1}})(x, x); }).find("another batch of vmap"),
            std::string::npos);
}

// ---- as_strided_scatter of batches that don't lie in front --------------------------------------------------------
TEST(Pairs, AsStridedScatterCountsFromTheStartOfAllSamples) {
  const Tensor base = numbers({2, 3, 2});
  for (int64_t dim = 0; dim < 3; ++dim) {
    const Tensor x = dim == 0 ? base.slice(0, 1, 2) : base;
    const auto f = [](const Tensor& t) {
      const Tensor row = t.select(0, 1);
      return as_strided_scatter(t, row * 10, row.sizes(), row.strides(), row.storage_offset());
    };
    const auto expected = [](const Tensor& t) { return select_scatter(t, t.select(0, 1) * 10, 0, 1); };
    EXPECT_TRUE(sameBits(vmap(f, {.in_dims = {dim}})(x), vmap(expected, {.in_dims = {dim}})(x))) << dim;
  }
}

// ---- fake tensors -------------------------------------------------------------------------------------------------
TEST(Pairs, VjpIsTracedOnFakeTensorsAndCompiled) {
  const Tensor x = numbers({3});
  const auto f = [](const Tensor& t) { return (t * t).tanh(); };
  const auto by_ones = [&](const Tensor& t) { return vjp(f, t).second(ones({3})); };
  const auto by_argument = [&](const Tensor& t, const Tensor& c) { return vjp(f, t).second(c); };
  const auto inner = [&](const Tensor& t) {
    const Tensor g = autograd::grad({f(t)}, {t}, {ones({3})}, true, true)[0];
    return (g * g).sum();
  };
  EXPECT_TRUE(sameBits(trace(by_ones, x, {.fake = true}).run({x})[0], by_ones(x)));
  EXPECT_TRUE(sameBits(trace(by_argument, std::tuple{x, x}, {.fake = true}).run({x, x})[0], by_argument(x, x)));
  EXPECT_TRUE(sameBits(trace(grad(inner), x, {.fake = true}).run({x})[0], grad(inner)(x)));
  auto compiled = compile(by_ones);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(sameBits(compiled(x), by_ones(x)));
  EXPECT_GT(compiled.counts().hits, 0u);
  FakeTensorMode fake;
  const Tensor shape = fake.from_tensor(x);
  EXPECT_TRUE(is_fake(by_ones(shape)));
  EXPECT_TRUE(is_fake(grad(inner)(shape)));
}

TEST(Pairs, ARealGradientOfAFakeResultIsRefused) {
  const Tensor x = to_fake(numbers({3}));
  const auto pull = vjp([](const Tensor& t) { return t * t; }, x).second;
  EXPECT_NE(errorOf([&] { pull(ones({3})); }).find("grad_output[0] is a real tensor and output[0] is a fake one"),
            std::string::npos);
}

// ---- what a function may write ------------------------------------------------------------------------------------
TEST(Pairs, FactoriesInsideOfGradMakeTensorsOfTheLevel) {
  const Tensor x = numbers({3}), w = numbers({3}).exp();
  const std::vector<std::pair<const char*, std::function<Tensor()>>> factories = {
      {"zeros", [] { return zeros({3}); }},          {"tensor", [] { return tensor({0.f, 0.f, 0.f}); }},
      {"zeros_like", [&] { return zeros_like(w); }}, {"new_zeros", [&] { return w.new_zeros({3}); }},
      {"clone", [&] { return w.clone().mul_(0); }},
  };
  for (const auto& [name, make] : factories) {
    SCOPED_TRACE(name);
    const auto f = [&make = make](const Tensor& t) {
      Tensor y = make();
      y.add_(t * 2);
      y.slice(0, 0, 1).copy_(t.slice(0, 2, 3));
      return (y * y).sum();
    };
    const Tensor leaf = x.clone().requires_grad_();
    f(leaf).backward();
    EXPECT_TRUE(sameBits(grad(f)(x), leaf.grad()));
    EXPECT_TRUE(sameBits(hessian(f)(x), diag(tensor({0.f, 8.f, 10.f}))));
  }
}

TEST(Pairs, ALeafMadeInsideOfGradIsDifferentiatedThere) {
  const Tensor x = numbers({3});
  const auto by_grad = [](const Tensor& t) {
    const Tensor v = ones({3}).requires_grad_();
    return autograd::grad({(v * t * t).sum()}, {v}, {}, true, true)[0].sum();
  };
  const auto by_backward = [](const Tensor& t) {
    const Tensor v = ones({3}).requires_grad_();
    (v * t * t).sum().backward({}, true, true);
    return v.grad().sum();
  };
  EXPECT_TRUE(sameBits(grad(by_grad)(x), x * 2));
  EXPECT_TRUE(sameBits(grad(by_backward)(x), x * 2));
}

TEST(Pairs, ATableThatAFunctionKeepsStaysAConstant) {
  const Tensor x = numbers({3});
  Tensor table, result;
  const auto f = [&](const Tensor& t) {
    if (!table.defined()) table = arange(3).to(kFloat);
    result = t * table;
    return result.sum();
  };
  const Tensor expected = arange(3).to(kFloat);
  EXPECT_TRUE(sameBits(grad(f)(x), expected));
  EXPECT_NE(errorOf([&] { (void)(result + 1); }).find("to a function which has returned"), std::string::npos);
  EXPECT_NE(errorOf([&] { table.add_(1); }).find("to a function which has returned"), std::string::npos);
  EXPECT_TRUE(sameBits(grad(f)(x), expected));
  EXPECT_TRUE(sameBits(f(x), (x * expected).sum()));
  EXPECT_TRUE(sameBits(vmap(grad(f))(stack({x, x})), stack({expected, expected})));
}

TEST(Pairs, AFactorysTensorIsFilledThroughItsPointer) {
  const Tensor x = numbers({3});
  const auto f = [](const Tensor& t) {
    Tensor w = empty({3});
    for (int i = 0; i < 3; ++i) w.data_ptr<float>()[i] = static_cast<float>(i);
    w.mul_(2);
    EXPECT_EQ(w.data_ptr<float>()[2], 4);
    EXPECT_NE(errorOf([&] { t.data_ptr(); }).find("inside vmap or grad"), std::string::npos);
    return (t * w).sum();
  };
  EXPECT_TRUE(sameBits(grad(f)(x), arange(3).to(kFloat) * 2));
  EXPECT_TRUE(sameBits(vmap(grad(f))(stack({x, x}))[1], arange(3).to(kFloat) * 2));
}

TEST(Pairs, WritingToATensorFromOutsideIsRefused) {
  const Tensor x = numbers({3}), w = numbers({3});
  const auto f = [&](const Tensor& t) {
    Tensor v = w.view({3});
    v.add_(t);
    return v.sum();
  };
  EXPECT_NE(errorOf([&] { grad(f)(x); }).find("from outside of the function that grad, vjp or jacrev differentiates"),
            std::string::npos);
  EXPECT_TRUE(sameBits(w, x));
}

}  // namespace
}  // namespace shunt::test
