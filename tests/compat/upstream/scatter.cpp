// Prints values, gradients and error texts of pytorch_scatter's operators.
#include "../report.h"

#include <torch/library.h>

#include <tuple>

namespace {

using report::integers;
using report::op;
using report::quarters;
using Optional = c10::optional<at::Tensor>;
using Size = c10::optional<int64_t>;
using Both = std::tuple<at::Tensor, at::Tensor>;

using Scatter = at::Tensor(at::Tensor, at::Tensor, int64_t, Optional, Size);
using ScatterArg = Both(at::Tensor, at::Tensor, int64_t, Optional, Size);
using Segment = at::Tensor(at::Tensor, at::Tensor, Optional, Size);
using SegmentArg = Both(at::Tensor, at::Tensor, Optional, Size);
using Csr = at::Tensor(at::Tensor, at::Tensor, Optional);
using CsrArg = Both(at::Tensor, at::Tensor, Optional);

const at::Tensor& first(const at::Tensor& t) { return t; }
const at::Tensor& first(const Both& t) { return std::get<0>(t); }
void showRest(const std::string&, const at::Tensor&) {}
void showRest(const std::string& what, const Both& t) { report::tensor(what + ", where", std::get<1>(t)); }

// f(x) with its gradient, for two dtypes; its values alone for integers.
template <class F>
void show(const char* name, F f) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor x = quarters({4, 3}, dtype).requires_grad_();
    const auto result = f(x);
    report::tensor(name, first(result));
    showRest(name, result);
    first(result).backward(quarters(first(result).sizes(), dtype));
    report::tensor(std::string(name) + ", gradient", x.grad());
  }
  const auto of_integers = f(quarters({4, 3}).mul(4).to(at::kLong));
  report::tensor(std::string(name) + " of integers", first(of_integers));
  showRest(name, of_integers);
}

void showScatter() {
  const at::Tensor index = integers({0, 1, 1, 2});
  for (const char* name : {"torch_scatter::scatter_sum", "torch_scatter::scatter_mul", "torch_scatter::scatter_mean"})
    show(name,
         [&](const at::Tensor& x) { return op<Scatter>(name).call(x, index.view({4, 1}).expand({4, 3}), 0, {}, {}); });
  for (const char* name : {"torch_scatter::scatter_min", "torch_scatter::scatter_max"})
    show(name, [&](const at::Tensor& x) {
      return op<ScatterArg>(name).call(x, integers({0, 2, 0}).view({1, 3}).expand({4, 3}), -1, {}, 4);
    });
  at::Tensor out = quarters({3, 3});
  op<Scatter>("torch_scatter::scatter_sum").call(quarters({4, 3}), index.view({4, 1}).expand({4, 3}), 0, out, {});
  report::tensor("scatter_sum into a tensor", out);
  report::error("scatter_sum with too many indices", [&] {
    op<Scatter>("torch_scatter::scatter_sum").call(quarters({4, 3}), integers({0, 1, 2, 3, 4}), 0, {}, {});
  });
  report::error("scatter_sum of bool",
                [&] { op<Scatter>("torch_scatter::scatter_sum").call(quarters({4}).ge(0), index, 0, {}, {}); });
}

void showSegments() {
  const at::Tensor index = integers({0, 0, 1, 3}), pointers = integers({0, 1, 1, 4});
  for (const char* name : {"torch_scatter::segment_sum_coo", "torch_scatter::segment_mean_coo"})
    show(name, [&](const at::Tensor& x) { return op<Segment>(name).call(x, index, {}, {}); });
  for (const char* name : {"torch_scatter::segment_min_coo", "torch_scatter::segment_max_coo"})
    show(name, [&](const at::Tensor& x) { return op<SegmentArg>(name).call(x, index, {}, 5); });
  for (const char* name : {"torch_scatter::segment_sum_csr", "torch_scatter::segment_mean_csr"})
    show(name, [&](const at::Tensor& x) { return op<Csr>(name).call(x, pointers, {}); });
  for (const char* name : {"torch_scatter::segment_min_csr", "torch_scatter::segment_max_csr"})
    show(name, [&](const at::Tensor& x) { return op<CsrArg>(name).call(x, pointers, {}); });
  show("torch_scatter::gather_coo", [&](const at::Tensor& x) {
    return op<Csr>("torch_scatter::gather_coo").call(x, integers({0, 0, 2, 3, 3}), {});
  });
  show("torch_scatter::gather_csr", [&](const at::Tensor& x) {
    return op<Csr>("torch_scatter::gather_csr").call(x, integers({0, 2, 2, 3, 5}), {});
  });
  report::error("segment_sum_csr of no dimensions",
                [&] { op<Csr>("torch_scatter::segment_sum_csr").call(quarters({}), pointers, {}); });
}

}  // namespace

int main() {
  showScatter();
  showSegments();
  std::printf("cuda_version: %lld\n", static_cast<long long>(op<int64_t()>("torch_scatter::cuda_version").call()));
  return 0;
}
