// Instantiates the templates and macros of the public headers that programs use, for compilers to warn of: compiled by
// headers_test with the warnings of a strict project, and never run.
#include <shunt/elementwise/library.h>
#include <shunt/shunt.h>
#include <shunt/transforms/batching.h>

#include <torch/all.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace {

using shunt::Tensor;

// Names of at and c10 that PyTorch's torch has, too.
static_assert(std::is_same_v<torch::Dispatcher, shunt::Dispatcher> &&
              std::is_same_v<at::Dispatcher, shunt::Dispatcher>);
static_assert(std::is_same_v<torch::OperatorHandle, c10::OperatorHandle> &&
              std::is_same_v<torch::FunctionSchema, c10::FunctionSchema> &&
              std::is_same_v<torch::DispatchKeySet, c10::DispatchKeySet> &&
              std::is_same_v<torch::Storage, c10::Storage> && std::is_same_v<at::IValue, torch::IValue>);
static_assert(at::Reduction::Sum == shunt::Reduction::Sum && torch::Reduction::Mean == 1);

struct Scaled : shunt::functors::Functor<2, 1> {
  static constexpr shunt::DtypeSet kTypes = shunt::kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b, C alpha) const {
    return static_cast<C>(a + alpha * b);
  }
};
struct Root : shunt::functors::FloatFunctor<1> {
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return shunt::math::log1p(shunt::math::exp(x));
  }
};

std::tuple<Tensor, std::vector<Tensor>> many(const Tensor& t, std::optional<double> p, shunt::IntArrayRef sizes,
                                             std::string text, const std::vector<Tensor>& list, bool flag,
                                             std::optional<int64_t> n, const shunt::Scalar& s) {
  return {flag && p && n && text.empty() && sizes.empty() ? t.add(s) : t, list};
}

SHUNT_LIBRARY(header_uses, m) {
  m.def("scaled(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  m.def("root(Tensor self) -> Tensor");
  m.def(
      "many(Tensor t, float? p, int[] sizes, str text, Tensor[] list, bool flag, int? n, Scalar s) -> (Tensor, "
      "Tensor[])");
}
SHUNT_LIBRARY_IMPL(header_uses, CPU, m) {
  m.elementwise<Scaled>("scaled");
  m.elementwise<Root>("root");
  m.impl("many", &many);
}

std::tuple<shunt::Batched, std::vector<shunt::Batched>> manyRule(const shunt::BatchInfo& info, const shunt::Batched& t,
                                                                 std::optional<double> p, shunt::IntArrayRef sizes,
                                                                 std::string_view text,
                                                                 const std::vector<shunt::Batched>& list, bool flag,
                                                                 std::optional<int64_t> n, const shunt::Scalar& s) {
  const bool all = flag && p && n && text.empty() && sizes.empty();
  return {{all ? t.in_front(info.size).add(s) : t.aligned(t.sample_dim()), 0}, list};
}

SHUNT_LIBRARY_IMPL(header_uses, Batched, m) {
  shunt::register_vmap(m, "header_uses::many", &manyRule);
  shunt::register_vmap(m, "header_uses::root", [](shunt::BatchingRuleCall& call) { call.add_result(call.batched(0)); });
}

struct Twice : shunt::autograd::Function<Twice> {
  static Tensor forward(shunt::autograd::AutogradContext* ctx, const Tensor& x, double k) {
    ctx->save_for_backward({x});
    ctx->saved_data["k"] = k;
    return x * k;
  }
  static shunt::autograd::variable_list backward(shunt::autograd::AutogradContext* ctx,
                                                 shunt::autograd::variable_list grads) {
    return {grads[0] * ctx->saved_data["k"].toDouble(), Tensor()};
  }
};

template <class T>
double sumOf(const Tensor& t) {
  const auto elements = t.accessor<T, 2>();
  double sum = 0;
  for (int64_t i = 0; i < elements.size(0); ++i) sum += static_cast<double>(elements[i][0]);
  return sum + static_cast<double>(t.item<T>());
}

Tensor losses(const Tensor& x, const Tensor& y) {
  return shunt::mse_loss(x, y, shunt::Reduction::Sum) + shunt::l1_loss(x, y, shunt::Reduction::None) +
         shunt::huber_loss(x, y, at::Reduction::Mean);
}

}  // namespace

double useHeaders() {
  Tensor x = shunt::tensor({1.0F, 2.0F}), y = shunt::tensor({{1, 2}, {3, 4}}), z = shunt::ones({2, 2}, shunt::kFloat);
  x.index_put_({shunt::indexing::Slice(0, 1)}, 2.0);
  const Tensor w = Twice::apply(x, 3.0) + losses(x, y) - 1 / (2.5 * z) % 3;
  w.sum().backward();
  const auto op = shunt::Dispatcher::singleton().findSchemaOrThrow("header_uses::many", "");
  op.typed<decltype(many)>().call(x, 0.5, {1, 2}, "text", {x, y}, true, 3, 2.5);
  const auto f = [](const Tensor& a, const Tensor& b) { return (a * b).sum(); };
  const auto each = shunt::vmap(shunt::grad(f), {.in_dims = {0, std::nullopt}});
  auto compiled = shunt::compile([&](const Tensor& a) { return a.mul(2); });
  const shunt::Graph graph = shunt::trace([](const Tensor& a) { return a.relu(); }, x);
  const at::Tensor made = each(x, y) + compiled(x) + graph.run({x})[0];
  AT_DISPATCH_ALL_TYPES(made.scalar_type(), "outer", [&] {
    using outer_t = scalar_t;
    AT_DISPATCH_INDEX_TYPES(y.scalar_type(), "inner", [&] { y.fill_(static_cast<index_t>(sizeof(outer_t))); });
  });
  at::parallel_for(0, 10, 1, [&](int64_t begin, int64_t end) { SHUNT_CHECK(begin <= end, "begin ", begin); });
  return sumOf<float>(z) + sumOf<int64_t>(y) + sumOf<shunt::BFloat16>(z) + made.item<double>();
}
