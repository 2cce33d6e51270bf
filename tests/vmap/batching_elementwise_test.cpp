// Operators that m.elementwise<> registers: one call of the kernel for a whole batch, without a rule of the program's.
#include "tests/vmap/util.h"

#include <shunt/elementwise/library.h>
#include <shunt/trace/trace.h>
#include <shunt/transforms/batching.h>

namespace shunt::test {
namespace {

/// Counts its kernel's calls: a check is made once a call, unless all inputs have the same floating-point dtype.
struct AddSquare : functors::Functor<2, 1> {
  static constexpr DtypeSet kTypes = kNumberTypes;
  static inline int calls;
  static void check(const checks::CheckArgs&) { ++calls; }
  template <class C>
  C operator()(C a, C b, C alpha) const {
    return static_cast<C>(a + alpha * b * b);
  }
};

struct Choose : functors::Functor<3> {
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr uint32_t kMaskInputs = 1;
  template <class C>
  C operator()(bool which, C a, C b) const {
    return which ? a : b;
  }
};

class BatchingElementwise : public testing::Test {
 protected:
  BatchingElementwise() {
    lib_.def("addsquare(Tensor self, Tensor other, Scalar alpha) -> Tensor");
    lib_.def("addsquare_(Tensor(a!) self, Tensor other, Scalar alpha) -> Tensor(a!)");
    lib_.def("choose(Tensor which, Tensor a, Tensor b) -> Tensor");
    lib_.def("named(Tensor mask, Tensor condition, Scalar alpha) -> Tensor");
    cpu_.emplace(Library::Kind::kImpl, "batching_elementwise", DispatchKey::CPU);
    cpu_->elementwise<AddSquare>("addsquare");
    cpu_->elementwise<Choose>("choose");
    cpu_->elementwise<AddSquare>("named");
  }
  template <class Signature>
  static TypedOperatorHandle<Signature> op(const char* name) {
    return Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  }
  static Tensor addSquare(const Tensor& a, const Tensor& b) {
    static const auto handle =
        op<Tensor(const Tensor&, const Tensor&, const Scalar&)>("batching_elementwise::addsquare");
    return handle.call(a, b, 3);
  }
  static Tensor choose(const Tensor& which, const Tensor& a, const Tensor& b) {
    static const auto handle = op<Tensor(const Tensor&, const Tensor&, const Tensor&)>("batching_elementwise::choose");
    return handle.call(which, a, b);
  }
  /// Equal to the loop to the bit, dtype included.
  static void check(const Function& f, const Tensors& in, const std::vector<std::optional<int64_t>>& dims) {
    const Tensors expected = loop(f, in, dims);
    const VmapCounters before = vmap_counters();
    const Tensors got = vmapped(f, in, dims);
    EXPECT_TRUE(sameValues(got[0], expected[0])) << in[0].sizes() << in[0].dtype() << got[0].dtype();
    EXPECT_EQ(vmap_counters().fallbacks, before.fallbacks);
    EXPECT_EQ(vmap_counters().rules, before.rules + 1);
  }
  const Function f_ = [](const Tensors& t) { return Tensors{addSquare(t[0], t[1])}; };
  Library lib_{Library::Kind::kDef, "batching_elementwise"};
  std::optional<Library> cpu_;
};

Tensor whole(IntArrayRef sizes, ScalarType dtype = kLong) { return randint(-9, 9, sizes, TensorOptions(dtype)); }

TEST_F(BatchingElementwise, TheKernelRunsOnceForTheWholeBatch) {
  const Tensor a = whole({5, 3}), b = whole({3, 5});
  AddSquare::calls = 0;
  const Tensor expected = loop(f_, {a, b}, {0, 1})[0];
  EXPECT_EQ(AddSquare::calls, 5) << "what counts calls counts those of the loop";
  AddSquare::calls = 0;
  EXPECT_TRUE(sameValues(vmapped(f_, {a, b}, {0, 1})[0], expected));
  EXPECT_EQ(AddSquare::calls, 1);
  AddSquare::calls = 0;
  const auto inner = vmap(&addSquare, {.in_dims = {0, std::nullopt}});
  const Tensor c = whole({4, 5, 3});
  EXPECT_TRUE(sameValues(vmap(inner, {.in_dims = {1, 0}})(c, a), addSquare(c, a).transpose(0, 1)));
  EXPECT_EQ(AddSquare::calls, 2) << "one in each of the two expressions";
}

TEST_F(BatchingElementwise, EqualsTheLoop) {
  check(f_, {randn({5, 3}), randn({5, 3})}, {0, 0});
  check(f_, {randn({3, 5}), randn({5, 3})}, {1, 0});
  check(f_, {randn({3, 5}), randn({3})}, {-1, std::nullopt});
  check(f_, {randn({2, 3}), randn({5, 3})}, {std::nullopt, 0});
  check(f_, {randn({5}), randn({2, 5, 3})}, {0, 1});
  check(f_, {randn({5}), randn({2, 3})}, {0, std::nullopt});
  const Function inplace = [](const Tensors& t) {
    static const auto handle = op<Tensor&(Tensor&, const Tensor&, const Scalar&)>("batching_elementwise::addsquare_");
    Tensor x = t[0].clone();
    return Tensors{handle.call(x, t[1], 2)};
  };
  AddSquare::calls = 0;
  const Tensors in = {whole({3, 5}), whole({5, 3})};
  const Tensors expected = loop(inplace, in, {1, 0});
  AddSquare::calls = 0;
  EXPECT_TRUE(sameValues(vmapped(inplace, in, {1, 0})[0], expected[0]));
  EXPECT_EQ(AddSquare::calls, 1);
  const Function chosen = [](const Tensors& t) { return Tensors{choose(t[0], t[1], t[2])}; };
  check(chosen, {whole({5, 3}).gt(0), randn({3, 5}), randn({3})}, {0, 1, std::nullopt});
  check(chosen, {whole({5}).gt(0), randn({3}), randn({3})}, {0, std::nullopt, std::nullopt});
}

// A tensor without dimensions has one with its batch, and promotes as one sample does all the same.
TEST_F(BatchingElementwise, PromotesAsOneSample) {
  for (const ScalarType a : {kInt, kFloat, kDouble, kHalf})
    for (const ScalarType b : {kInt, kLong, kFloat, kDouble}) {
      check(f_, {whole({5}, a), whole({5, 3}, b)}, {0, 0});
      check(f_, {whole({3}, a), whole({5}, b)}, {std::nullopt, 0});
      check(f_, {whole({5}, a), whole({}, b)}, {0, std::nullopt});
    }
}

// The functor says what is a mask, not the argument's name.
TEST_F(BatchingElementwise, PromotesWhatIsNamedAsAMask) {
  const Function f = [](const Tensors& t) {
    static const auto handle = op<Tensor(const Tensor&, const Tensor&, const Scalar&)>("batching_elementwise::named");
    return Tensors{handle.call(t[0], t[1], 3)};
  };
  check(f, {whole({5}, kDouble), whole({5, 3}, kFloat)}, {0, 0});
  check(f, {whole({5, 3}, kFloat), whole({5}, kDouble)}, {0, 0});
}

TEST_F(BatchingElementwise, HasTheGradientThatIsRegistered) {
  struct Gradient : autograd::Function<Gradient> {
    static Tensor forward(autograd::AutogradContext* ctx, const Tensor& a, const Tensor& b) {
      ctx->save_for_backward({a, b});
      const AutoDispatchBelowAutograd below;
      return addSquare(a, b);
    }
    static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
      const auto saved = ctx->get_saved_variables();
      return {grads[0].sum_to_size(saved[0].sizes()), (grads[0] * 6 * saved[1]).sum_to_size(saved[1].sizes())};
    }
  };
  lib_.impl("addsquare", DispatchKey::Autograd,
            [](const Tensor& a, const Tensor& b, const Scalar&) { return Gradient::apply(a, b); });
  const Tensor a = whole({5, 3}, kDouble), b = whole({3, 5}, kDouble);
  const auto loss = [](const Tensor& x, const Tensor& y) { return (addSquare(x, y) * y).sum(); };
  const uint64_t fallbacks = vmap_counters().fallbacks;
  const Tensor got = vmap(grad(loss, {1}), {.in_dims = {0, 1}})(a, b)[0];
  EXPECT_EQ(vmap_counters().fallbacks, fallbacks);
  for (int64_t i = 0; i < 5; ++i) EXPECT_TRUE(sameValues(got[i], grad(loss, {1})(a[i], b.select(1, i))[0])) << i;
}

TEST_F(BatchingElementwise, IsOneNodeOfAGraph) {
  Library meta(Library::Kind::kImpl, "batching_elementwise", DispatchKey::Meta);
  meta.elementwise<AddSquare>("addsquare");
  const Tensor a = randn({5, 3}), b = randn({5, 3});
  const Graph graph = trace([&](const Tensors& t) { return vmapped(f_, t, {0, 0}); }, Tensors{a, b});
  EXPECT_EQ(graph.nodeCount(), 1u) << graph.print();
}

// A rule that a program registers comes first, whether before the kernel or after it.
TEST_F(BatchingElementwise, IsRunByARuleWhereThereIsOne) {
  cpu_.reset();
  const Library rule = register_vmap("batching_elementwise::addsquare",
                                     [](const Batched& a, const Batched&, const Scalar&) { return a; });
  cpu_.emplace(Library::Kind::kImpl, "batching_elementwise", DispatchKey::CPU);
  cpu_->elementwise<AddSquare>("addsquare");
  const Tensor a = randn({5, 3});
  EXPECT_TRUE(sameValues(vmapped(f_, {a, a}, {0, 0})[0], a));
}

// What another kernel does with a batch nobody knows.
TEST_F(BatchingElementwise, LoopsWhileAnotherKernelIsOnTop) {
  const Tensor a = randn({5, 3});
  {
    Library m(Library::Kind::kImpl, "batching_elementwise", DispatchKey::CPU);
    m.impl("addsquare", [](const Tensor& x, const Tensor&, const Scalar&) { return x / x.sum(); });
    const uint64_t fallbacks = vmap_counters().fallbacks;
    EXPECT_TRUE(sameValues(vmapped(f_, {a, a}, {0, 0})[0], loop(f_, {a, a}, {0, 0})[0]));
    EXPECT_EQ(vmap_counters().fallbacks, fallbacks + 1);
  }
  check(f_, {a, a}, {0, 0});
}

}  // namespace
}  // namespace shunt::test
