// Prints the instruction set in use and a checksum over the bits of many reductions, softmaxes, layer_norms and random
// draws. isa_test.cpp runs it with different SHUNT_ISA and SHUNT_NUM_THREADS and compares the lines.
#include <gtest/gtest.h>

#include "tests/reduce/reference.h"

#include <shunt/core/isa.h>

#include <cstdio>

namespace shunt::testing {
namespace {

class Checksum {
 public:
  void add(const Tensor& t) {
    const Tensor c = t.is_contiguous() ? t : t.contiguous();
    const auto* bytes = static_cast<const unsigned char*>(c.data_ptr());
    for (size_t i = 0; i < c.nbytes(); ++i) sum_ = (sum_ ^ bytes[i]) * 0x100000001b3u;
  }
  unsigned long long value() const { return sum_; }

 private:
  uint64_t sum_ = 0xcbf29ce484222325u;
};

void addReductions(Checksum& sum, const Tensor& t) {
  sum.add(shunt::sum(t));
  sum.add(shunt::amax(t));
  sum.add(shunt::argmin(t));
  for (int64_t d = 0; d < t.dim(); ++d) {
    sum.add(shunt::sum(t, {d}));
    sum.add(shunt::prod(t, d));
    sum.add(shunt::amin(t, {d}));
    sum.add(shunt::any(t, d));
    sum.add(std::get<1>(shunt::max(t, d)));
    if (!t.is_floating_point()) continue;
    sum.add(shunt::mean(t, {d}));
    const Tensor soft = shunt::softmax(t, d);
    sum.add(soft);
    sum.add(shunt::log_softmax(t, d));
    sum.add(shunt::_softmax_backward_data(t.contiguous(), soft, d, t.dtype()));
    sum.add(shunt::_log_softmax_backward_data(t.contiguous(), soft, d, t.dtype()));
  }
  for (int64_t d = 0; d < t.dim(); ++d) {
    sum.add(t.cumsum(d));
    sum.add(t.cumprod(d));
    if (!t.is_floating_point()) continue;
    const auto [v, m] = shunt::var_mean(t, IntArrayRef(d), true);
    for (const Tensor& part : {v, m, t.std(IntArrayRef(d), true), t.logsumexp({d})}) sum.add(part);
    for (const double p : {0.0, 1.0, 2.0, 3.0, 2.5}) sum.add(t.norm(p, {d}));
  }
  if (!t.is_floating_point()) return;
  const std::vector<int64_t> row = {t.sizes().back()};
  const Tensor w = randomTensor(row, t.scalar_type(), 2);
  const auto [y, mean, rstd] = shunt::native_layer_norm(t, row, w, w, 1e-5);
  const auto [dx, dw, db] = shunt::native_layer_norm_backward(y, t, row, mean, rstd, w, w, {true, true, true});
  for (const Tensor& part : {y, mean, rstd, dx, dw, db}) sum.add(part);
}

void addDraws(Checksum& sum, ScalarType type) {
  shunt::manual_seed(3);
  for (const int64_t numel : {1, 7, 1001, 90000}) {
    const Tensor t = shunt::empty({numel}, type);
    sum.add(t.normal_(0.5, 2));
    sum.add(t.uniform_(-1, 3));
    sum.add(t.bernoulli_(0.3));
    sum.add(t.random_());
  }
}

}  // namespace
}  // namespace shunt::testing

int main() {
  using namespace shunt;
  using namespace shunt::testing;
  Checksum sum;
  for (const ScalarType type : {kByte, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble})
    for (const auto& sizes :
         std::vector<std::vector<int64_t>>{{1}, {15}, {77}, {32, 10}, {33, 129}, {3, 1300}, {4, 7, 31}, {90000}})
      for (const Tensor& t : layoutsOf(randomTensor(sizes, type))) addReductions(sum, t);
  for (const ScalarType type : {kHalf, kBFloat16, kFloat, kDouble}) addDraws(sum, type);
  std::printf("%s %016llx\n", isa_name(), sum.value());
}
