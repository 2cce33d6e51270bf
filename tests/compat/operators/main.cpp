// Prints values, gradients and error texts of this extension's operators, called typed and boxed, and of its functions.
#include "operators.h"

#include "../report.h"
#include "checks.h"

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/library.h>

#include <atomic>

namespace {

using report::integers;
using report::quarters;

at::Tensor leaf(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return quarters(sizes, dtype).requires_grad_();
}

void showSoftmax() {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor x = leaf({3, 4}, dtype);
    const at::Tensor y = operators::row_softmax(x, 0.5);
    report::tensor("row_softmax", y);
    y.backward(quarters({3, 4}, dtype));
    report::tensor("row_softmax, gradient", x.grad());
    // A column-major argument: accessors go by strides.
    report::tensor("row_softmax of a transpose", operators::row_softmax(x.detach().t(), 2.0));
  }
  torch::jit::Stack stack{quarters({2, 2}), 1.0};
  c10::Dispatcher::singleton().findSchemaOrThrow("operators::row_softmax", "").callBoxed(&stack);
  report::tensor("row_softmax, boxed", stack.back().toTensor());
  {
    at::NoGradGuard off;
    report::tensor("row_softmax without recording", operators::row_softmax(leaf({1, 2}), 1.0));
  }
  const at::Tensor x = leaf({2, 2});
  const at::Tensor y = operators::row_softmax(x, 1.0);
  y.sum().backward();
  report::error("a second backward", [&] { y.sum().backward(); });
  report::error("row_softmax of a vector", [] { operators::row_softmax(quarters({4}), 1.0); });
  report::error("row_softmax of half", [] { operators::row_softmax(quarters({2, 2}, at::kHalf), 1.0); });
  report::error("row_softmax of int", [] { operators::row_softmax(quarters({2, 2}, at::kInt), 1.0); });
}

void showSegmentSum() {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kByte, at::kShort})
    for (const auto index : {at::kLong, at::kInt})
      report::tensor("segment_sum", operators::segment_sum(quarters({5, 3}, at::kFloat).abs().to(dtype),
                                                           integers({2, 0, 2, 3, 0}, index), 4));
  const at::Tensor x = leaf({5, 3}), weights = quarters({4, 3});
  const at::Tensor sums = operators::segment_sum(x, integers({2, 0, 2, 3, 0}), 4);
  (sums * weights).sum().backward();
  report::tensor("segment_sum, gradient", x.grad());
  const auto bool_type = at::kBool;
  report::error("segment_sum of bool", [&] { operators::segment_sum(quarters({2, 2}).ge(0), integers({0, 1}), 2); });
  report::error("an index of bool", [&] { operators::segment_sum(quarters({2, 2}), integers({0, 1}, bool_type), 2); });
  report::error("an index out of range", [] { operators::segment_sum(quarters({2, 2}), integers({0, 2}), 2); });
  report::error("too few indices", [] { operators::segment_sum(quarters({2, 2}), integers({0}), 2); });
  report::error("three dimensions", [] { operators::segment_sum(quarters({2, 2, 2}), integers({0, 1}), 2); });
}

void showRowMax() {
  for (const auto dtype : {at::kFloat, at::kHalf, at::kChar, at::kInt}) {
    const auto result = operators::row_max(quarters({3, 4}, at::kFloat).mul(4).to(dtype));
    report::tensor("row_max", std::get<0>(result));
    report::tensor("row_max, where", std::get<1>(result));
  }
  const at::Tensor x = leaf({3, 4});
  const auto result = operators::row_max(x);
  std::printf("where requires grad: %d\n", std::get<1>(result).requires_grad());
  std::get<0>(result).backward(quarters({3}));
  report::tensor("row_max, gradient", x.grad());
  report::error("row_max of a vector", [] { operators::row_max(quarters({4})); });
  report::error("row_max of bool", [] { operators::row_max(quarters({2, 2}).ge(0)); });
}

void showClampBelow() {
  const at::Tensor x = leaf({2, 3});
  at::Tensor y = x * 2;
  operators::clamp_below_(y, 0.75);
  report::tensor("clamp_below_", y);
  std::printf("its version: %lld\n", static_cast<long long>(y._version()));
  y.backward(quarters({2, 3}));
  report::tensor("clamp_below_, gradient", x.grad());
  report::error("clamp_below_ of a leaf", [] {
    at::Tensor t = leaf({2});
    operators::clamp_below_(t, 0);
  });
  report::error("clamp_below_ of a transpose", [] {
    at::Tensor t = quarters({2, 3}).t();
    operators::clamp_below_(t, 0);
  });
}

void showParallel() {
  at::set_num_threads(2);
  std::atomic<int64_t> sum{0}, most_threads{0}, in_region{0};
  at::parallel_for(0, 1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
    if (at::get_thread_num() >= at::get_num_threads()) most_threads = 1;
    in_region += !at::in_parallel_region();
    at::parallel_for(0, 3, 1, [&](int64_t b, int64_t e) { sum += e - b; });
  });
  std::printf("parallel_for: %lld too many threads: %lld\n", static_cast<long long>(sum % 3 == 499500 % 3),
              static_cast<long long>(most_threads));
  int calls = 0;
  at::parallel_for(5, 5, 1, [&](int64_t, int64_t) { ++calls; });
  at::parallel_for(0, 8, 100, [&](int64_t b, int64_t e) { calls += b == 0 && e == 8; });
  std::printf("calls for an empty range and for one chunk: %d\n", calls);
  const int64_t total = at::parallel_reduce(
      0, 100000, 1000, int64_t{0},
      [](int64_t b, int64_t e, int64_t start) {
        for (int64_t i = b; i < e; ++i) start += i;
        return start;
      },
      [](int64_t a, int64_t b) { return a + b; });
  std::printf("parallel_reduce: %lld\n", static_cast<long long>(total));
  report::error("parallel_for", [] {
    at::parallel_for(0, 1000, 1, [](int64_t, int64_t) { TORCH_CHECK(false, "thrown in a chunk"); });
  });
}

/// PyTorch's operators as extensions call them: pools by their lists, out= first.
void showFunctions() {
  const at::Tensor image = quarters({1, 2, 4, 4}), square = quarters({3, 3});
  report::tensor("avg_pool2d", at::avg_pool2d(image, {2, 2}));
  report::tensor("avg_pool2d, padded", at::avg_pool2d(image, {3, 3}, {2, 2}, {1, 1}, false, false));
  report::tensor("max_pool2d", at::max_pool2d(image, {2, 2}, {1, 1}));
  at::Tensor out = at::empty({0});
  report::tensor("tril_out", at::tril_out(out, square, 1));
  report::tensor("triu_out", at::triu_out(out, square));
  report::tensor("roll_out", at::roll_out(out, square, {1}, {0}));
  at::Tensor rows = at::empty({6, 3});
  report::tensor("repeat_out", at::repeat_out(rows, square, {2, 1}));
  at::Tensor loss = at::empty({0});
  at::binary_cross_entropy_with_logits_out(loss, square, square.abs(), {}, {}, at::Reduction::Sum);
  std::printf("binary_cross_entropy_with_logits_out: %.4f, %lld dimensions\n", loss.item<double>(),
              static_cast<long long>(loss.dim()));
}

}  // namespace

int main() {
  at::set_num_threads(1);
  showSoftmax();
  showSegmentSum();
  showRowMax();
  showClampBelow();
  showParallel();
  showFunctions();
  showChecks();
  return 0;
}
