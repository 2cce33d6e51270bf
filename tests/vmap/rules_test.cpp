// Every operator that has a derivative, on the inputs of gradcheck: vmap equals the loop over the samples, with each
// choice of batched inputs, batches in front and at the end, twice nested, and so do gradients inside and outside of
// it.
#include "tests/autograd/gradcheck_cases.h"
#include "tests/vmap/util.h"
namespace shunt::test {
namespace {

constexpr int64_t kSamples = 3;

/// Random operators have tests of their own.
bool isRandom(const GradcheckCase& c) {
  for (const char* name : {"uniform", "normal", "random", "bernoulli"})
    if (c.op.starts_with(name)) return true;
  return false;
}

/// Arguments that speak of memory are of that of one contiguous sample.
bool speaksOfMemory(const GradcheckCase& c) { return c.op.starts_with("as_strided"); }

/// The function on a sample of its own memory, where that matters.
Function functionOf(const GradcheckCase& c, bool alone) {
  return [&c, alone](const Tensors& t) {
    if (!alone) return c.f(t);
    Tensors own;
    for (const Tensor& x : t) own.push_back(x.contiguous().clone());
    return c.f(own);
  };
}

/// Elements of `x` in another order, so that they are in the operator's domain.
Tensor shuffled(const Tensor& x, int64_t sample) {
  if (x.numel() < 2) return x.detach() * (1 + 0.125 * static_cast<double>(sample));
  const Tensor flat = x.detach().reshape({-1});
  const Tensor order = arange(x.numel(), TensorOptions(kLong)).add(sample).remainder(x.numel());
  return flat.index_select(0, order).reshape(x.sizes());
}

Tensor batchOf(const Tensor& x, int64_t samples, int64_t dim) {
  std::vector<Tensor> all;
  for (int64_t i = 0; i < samples; ++i) all.push_back(shuffled(x, i));
  return stack(all, dim).contiguous();
}

struct Batch {
  Tensors in;
  std::vector<std::optional<int64_t>> dims;
};

/// The inputs whose bits are set in `which` get a batch.
Batch batchFor(const Tensors& inputs, unsigned which, bool at_end) {
  Batch b;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool batched = (which >> i & 1) != 0;
    const int64_t dim = at_end ? inputs[i].dim() : 0;
    b.in.push_back(batched ? batchOf(inputs[i], kSamples, dim) : inputs[i].detach());
    b.dims.push_back(batched ? std::optional<int64_t>(dim) : std::nullopt);
  }
  return b;
}

/// A number that depends on all elements of all results differently.
Tensor weighed(const Tensors& results) {
  Tensor total;
  for (const Tensor& r : results) {
    if (!r.defined() || !r.is_floating_point()) continue;
    const Tensor w = arange(std::max<int64_t>(r.numel(), 1), TensorOptions(kDouble)).slice(0, 0, r.numel()).add(1);
    const Tensor part = (r * w.reshape(r.sizes()).mul(0.25)).sum();
    total = total.defined() ? total + part : part;
  }
  return total;
}

/// Whether the case writes to its first input, or to what it makes of it, and only others are batched: an error, since
/// one tensor can't hold a result for each sample.
bool isRefused(const GradcheckCase& c, const std::exception& e) {
  const std::string name = c.op.substr(0, c.op.find('.'));
  return name.ends_with('_') && std::string_view(e.what()).find("that has no batch") != std::string_view::npos;
}

struct RulesTest : testing::Test {
  static void expectEqual(const Tensors& got, const Tensors& expected, bool bits, const std::string& what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (size_t r = 0; r < got.size(); ++r) {
      EXPECT_EQ(got[r].sizes(), expected[r].sizes()) << what;
      EXPECT_EQ(got[r].dtype(), expected[r].dtype()) << what;
      EXPECT_LE(distance(got[r], expected[r]), bits ? 0 : 1e-13) << what << " result " << r;
    }
  }

  static void check(const GradcheckCase& c, bool bits) {
    const Tensors inputs = c.inputs();
    if (inputs.size() > 5 || isRandom(c)) return;
    const Function f = functionOf(c, false), oracle = functionOf(c, speaksOfMemory(c));
    const uint64_t fallbacks = vmap_counters().fallbacks;
    for (unsigned which = 1; which < 1u << inputs.size(); ++which)
      for (const bool at_end : {false, true}) {
        if (at_end && speaksOfMemory(c)) continue;
        const Batch b = batchFor(inputs, which, at_end);
        const std::string what = detail::str(c.op, " batched ", which, at_end ? " at the end" : " in front");
        SCOPED_TRACE(what);
        try {
          const NoGradGuard no_grad;
          expectEqual(vmapped(f, b.in, b.dims), loop(oracle, b.in, b.dims), bits, what);
        } catch (const std::exception& e) {
          if (!isRefused(c, e) || (which & 1) != 0) ADD_FAILURE() << what << ": " << e.what();
        }
      }
    EXPECT_EQ(vmap_counters().fallbacks, fallbacks) << c.op;
  }

  static void checkGradients(const GradcheckCase& c) {
    const Tensors inputs = c.inputs();
    if (inputs.size() > 5 || isRandom(c)) return;
    // Inside vmap, of all inputs at once; the oracle is backward for one sample.
    const Function inside = [&](const Tensors& t) {
      return grad([&](const Tensors& in) { return weighed(c.f(in)); })(t);
    };
    const Function plain = [&](const Tensors& t) {
      Tensors leaves;
      for (const Tensor& x : t) leaves.push_back((speaksOfMemory(c) ? x.clone() : x.detach()).requires_grad_());
      Tensors grads = autograd::grad({weighed(c.f(leaves))}, leaves, {}, false, false, true);
      for (size_t i = 0; i < grads.size(); ++i)
        if (!grads[i].defined()) grads[i] = zeros_like(leaves[i]);
      return grads;
    };
    for (unsigned which = 1; which < 1u << inputs.size(); ++which) {
      const Batch b = batchFor(inputs, which, false);
      const std::string what = detail::str("gradient of ", c.op, " batched ", which);
      try {
        const Tensors expected = loop(plain, b.in, b.dims);
        expectEqual(vmapped(inside, b.in, b.dims), expected, false, what);
        // Outside of vmap: of the sum over samples.
        Tensors leaves;
        for (const Tensor& x : b.in) leaves.push_back(x.detach().requires_grad_());
        const Tensor sum = vmapped([&](const Tensors& t) { return Tensors{weighed(c.f(t))}; }, leaves, b.dims)[0].sum();
        Tensors outside = autograd::grad({sum}, leaves, {}, false, false, true);
        for (size_t i = 0; i < outside.size(); ++i) {
          const Tensor got = outside[i].defined() ? outside[i] : zeros_like(leaves[i]);
          expectEqual({got}, {b.dims[i] ? expected[i] : expected[i].sum(0)}, false, what + " outside");
        }
      } catch (const std::exception& e) {
        if (!isRefused(c, e) || (which & 1) != 0) ADD_FAILURE() << what << ": " << e.what();
      }
    }
  }

  /// The first input batched twice, by vmap of vmap.
  static void checkNested(const GradcheckCase& c) {
    const Tensors inputs = c.inputs();
    if (inputs.size() > 2 || isRandom(c) || speaksOfMemory(c)) return;
    const Tensor inner = batchOf(inputs[0], kSamples, 0);
    const Tensor both = stack({inner, inner.index_select(0, tensor({2, 0, 1}))}, 1);
    const auto second = inputs.size() == 2 ? inputs[1].detach() : Tensor();
    const auto one = [&](const Tensor& a) { return c.f(second.defined() ? Tensors{a, second} : Tensors{a}); };
    try {
      const NoGradGuard no_grad;
      const Tensors got = vmap([&](const Tensor& t) -> Tensors { return vmap(one)(t); }, {.in_dims = {1}})(both);
      for (int64_t o = 0; o < 2; ++o) {
        Tensors row;
        for (const Tensor& g : got) row.push_back(g[o]);
        expectEqual(row, loop([&](const Tensors& t) { return one(t[0]); }, {both.select(1, o)}, {0}), false,
                    c.op + " nested");
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << c.op << " nested: " << e.what();
    }
  }
};

TEST_F(RulesTest, ElementwiseEqualsTheLoop) {
  for (const GradcheckCase& c : elementwiseCases()) check(c, true);
}
TEST_F(RulesTest, ActivationsEqualTheLoop) {
  for (const GradcheckCase& c : activationCases()) check(c, false);
}
TEST_F(RulesTest, ReductionsEqualTheLoop) {
  for (const GradcheckCase& c : reductionCases()) check(c, false);
}
TEST_F(RulesTest, ShapesEqualTheLoop) {
  for (const GradcheckCase& c : shapeCases()) check(c, false);
}
TEST_F(RulesTest, ProductsAndLossesEqualTheLoop) {
  for (const GradcheckCase& c : linalgAndLossCases()) check(c, false);
  for (const GradcheckCase& c : visionCases()) check(c, false);
}

TEST_F(RulesTest, GradientsEqualTheLoop) {
  for (const auto& cases :
       {elementwiseCases(), activationCases(), reductionCases(), shapeCases(), linalgAndLossCases(), visionCases()})
    for (const GradcheckCase& c : cases) checkGradients(c);
}

TEST_F(RulesTest, NestedEqualsTheLoop) {
  for (const auto& cases :
       {elementwiseCases(), activationCases(), reductionCases(), shapeCases(), linalgAndLossCases(), visionCases()})
    for (const GradcheckCase& c : cases) checkNested(c);
}

}  // namespace
}  // namespace shunt::test
