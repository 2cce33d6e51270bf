// Prints values, gradients and error texts of torchvision's operators.
#include "../report.h"

#include <torch/library.h>

#include <tuple>
#include <vector>

namespace {

using at::Tensor;
using report::op;
using report::quarters;
using Both = std::tuple<Tensor, Tensor>;

Tensor boxes(std::initializer_list<double> values, int64_t columns, at::ScalarType dtype) {
  const std::vector<double> list(values);
  Tensor t = at::zeros({static_cast<int64_t>(list.size()) / columns, columns}, at::kDouble);
  std::copy(list.begin(), list.end(), t.data_ptr<double>());
  return t.to(dtype);
}
// Of two images; from within and from over the edge.
Tensor regions(at::ScalarType dtype) { return boxes({0, 0.5, 0.5, 3, 3, 1, -1, 0, 2.5, 7, 0, 1, 1, 2, 2}, 5, dtype); }

void showGradient(const char* name, const Tensor& x, const Tensor& result) {
  report::tensor(name, result);
  result.backward(quarters(result.sizes(), result.scalar_type()));
  report::tensor(std::string(name) + ", gradient", x.grad());
}

void showNms() {
  const auto nms = op<Tensor(const Tensor&, const Tensor&, double)>("torchvision::nms");
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const Tensor dets = boxes({0, 0, 4, 4, 1, 1, 5, 5, 0, 0, 4, 3, 8, 8, 9, 9, 8, 8, 9.5, 9}, 4, dtype);
    const Tensor scores = quarters({5}, dtype).abs();
    for (const double threshold : {0.2, 0.5, 0.9}) report::tensor("nms", nms.call(dets, scores, threshold));
    report::tensor("nms of none", nms.call(dets.slice(0, 0, 0), scores.slice(0, 0, 0), 0.5));
  }
  report::error("nms of a vector", [&] { nms.call(quarters({4}), quarters({1}), 0.5); });
  report::error("nms of triples", [&] { nms.call(quarters({2, 3}), quarters({2}), 0.5); });
  report::error("nms with too many scores", [&] { nms.call(quarters({2, 4}), quarters({3}), 0.5); });
  report::error("nms of two dtypes", [&] { nms.call(quarters({2, 4}), quarters({2}, at::kDouble), 0.5); });
  report::error("nms of integers", [&] { nms.call(quarters({2, 4}, at::kInt), quarters({2}, at::kInt), 0.5); });
}

void showPooling(at::ScalarType dtype) {
  const auto image = [&] { return quarters({2, 4, 4, 6}, dtype).requires_grad_(); };
  Tensor x = image();
  const auto roi_align =
      op<Tensor(const Tensor&, const Tensor&, double, int64_t, int64_t, int64_t, bool)>("torchvision::roi_align");
  showGradient("roi_align", x, roi_align.call(x, regions(dtype), 1.0, 2, 2, 2, false));
  x = image();
  showGradient("roi_align, aligned", x, roi_align.call(x, regions(dtype), 0.5, 2, 1, 1, true));
  x = image();
  const auto roi_pool = op<Both(const Tensor&, const Tensor&, double, int64_t, int64_t)>("torchvision::roi_pool");
  const Both pooled = roi_pool.call(x, regions(dtype), 1.0, 2, 2);
  report::tensor("roi_pool, where", std::get<1>(pooled));
  showGradient("roi_pool", x, std::get<0>(pooled));
  x = image();
  const auto ps_roi_pool = op<Both(const Tensor&, const Tensor&, double, int64_t, int64_t)>("torchvision::ps_roi_pool");
  const Both positioned = ps_roi_pool.call(x, regions(dtype), 1.0, 2, 2);
  report::tensor("ps_roi_pool, channels", std::get<1>(positioned));
  showGradient("ps_roi_pool", x, std::get<0>(positioned));
  x = image();
  const auto ps_roi_align =
      op<Both(const Tensor&, const Tensor&, double, int64_t, int64_t, int64_t)>("torchvision::ps_roi_align");
  showGradient("ps_roi_align", x, std::get<0>(ps_roi_align.call(x, regions(dtype), 1.0, 2, 2, 2)));
  report::error("roi_align of wrong regions", [&] { roi_align.call(image(), quarters({2, 4}, dtype), 1, 2, 2, 2, 0); });
  report::error("roi_align of two dtypes", [&] {
    roi_align.call(image(), regions(dtype == at::kFloat ? at::kDouble : at::kFloat), 1.0, 2, 2, 2, false);
  });
  report::error("a second gradient", [&] {
    const Tensor y = image();
    const Tensor pooled_again = roi_align.call(y, regions(dtype), 1.0, 2, 2, 2, false);
    const Tensor seed = at::ones_like(pooled_again).requires_grad_();
    pooled_again.backward(seed, c10::nullopt, true);
    y.grad().sum().backward();
  });
}

// Offsets of half an element: what is interpolated has few bits, and its sums are exact in any order.
void showDeformConv(at::ScalarType dtype) {
  const auto conv =
      op<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t, int64_t,
                int64_t, int64_t, int64_t, int64_t, int64_t, bool)>("torchvision::deform_conv2d");
  const Tensor x = quarters({1, 2, 4, 4}, dtype).requires_grad_(), weight = quarters({2, 2, 2, 2}, dtype);
  const Tensor offset = quarters({1, 8, 3, 3}, dtype).sign().mul(0.5), mask = quarters({1, 4, 3, 3}, dtype);
  const Tensor bias = quarters({2}, dtype);
  for (const Tensor& t : {weight, offset, mask, bias}) t.requires_grad_();
  const Tensor y = conv.call(x, weight, offset, mask, bias, 1, 1, 0, 0, 1, 1, 1, 1, true);
  report::tensor("deform_conv2d", y);
  y.backward(quarters(y.sizes(), dtype));
  for (const Tensor& t : {x, weight, offset, mask, bias}) report::tensor("deform_conv2d, gradient", t.grad());
  report::error("deform_conv2d of wrong offsets",
                [&] { conv.call(x, weight, quarters({1, 6, 3, 3}, dtype), mask, bias, 1, 1, 0, 0, 1, 1, 1, 1, true); });
}

}  // namespace

int main() {
  showNms();
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    showPooling(dtype);
    showDeformConv(dtype);
  }
  return 0;
}
