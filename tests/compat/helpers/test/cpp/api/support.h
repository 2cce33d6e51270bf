// What PyTorch's suites of its C++ API share, in the place of their own header, which needs torch::nn.
#pragma once

#include <test/cpp/common/support.h>

#include <ATen/TensorIndexing.h>
#include <torch/torch.h>

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

namespace torch::test {

struct SeedingFixture : ::testing::Test {
  SeedingFixture() { torch::manual_seed(0); }
};

inline bool pointer_equal(const at::Tensor& a, const at::Tensor& b) { return a.data_ptr() == b.data_ptr(); }

/// The largest difference of elements that are numbers in both; where one is NaN, both have to be.
inline double largest_difference(const at::Tensor& a, const at::Tensor& b, bool& same_nans) {
  const at::Tensor x = a.to(torch::kDouble), y = b.to(torch::kDouble), nans = x != x;
  same_nans = torch::equal(nans, y != y);
  return x.numel() == 0 ? 0.0 : torch::where(nans, torch::zeros_like(x), x - y).abs().max().item<double>();
}

inline void assert_tensor_equal(const at::Tensor& a, const at::Tensor& b, bool /*allow_inf*/ = false) {
  ASSERT_TRUE(a.sizes() == b.sizes());
  if (torch::equal(a, b.to(a.scalar_type()))) return;  // infinities, too
  bool same_nans = false;
  ASSERT_LE(largest_difference(a, b, same_nans), 1e-5);
  ASSERT_TRUE(same_nans);
}

inline void assert_tensor_not_equal(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return;
  ASSERT_GT(a.numel(), 0);
  bool same_nans = false;
  const double difference = largest_difference(a, b, same_nans);
  if (same_nans) {
    ASSERT_GE(difference, 1e-5);
  }
}

/// What the library logs as long as it lives.
class WarningCapture {
 public:
  WarningCapture() : before_(shunt::set_log_sink(&keep)) { messages().clear(); }
  ~WarningCapture() { shunt::set_log_sink(before_); }
  static std::vector<std::string>& messages() {
    static std::vector<std::string> all;
    return all;
  }
  std::string str() const {
    std::string text;
    for (const std::string& m : messages()) text += m + "\n";
    return text;
  }

 private:
  static void keep(shunt::LogLevel, const char* message) { messages().emplace_back(message); }
  const shunt::LogSink before_;
};

inline int count_substr_occurrences(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Whether the view came about like that.
inline void assert_tensor_creation_meta(const at::Tensor& view, shunt::autograd::CreationMeta expected) {
  const auto* meta = shunt::autograd::get_view_autograd_meta(view);
  ASSERT_NE(meta, nullptr);
  ASSERT_EQ(meta->creation_meta_, expected);
}

/// Another default dtype as long as it lives; one at a time.
struct AutoDefaultDtypeMode {
  explicit AutoDefaultDtypeMode(c10::ScalarType dtype) : lock(default_dtype_mutex), before(torch::get_default_dtype()) {
    torch::set_default_dtype(dtype);
  }
  ~AutoDefaultDtypeMode() { torch::set_default_dtype(before); }
  static inline std::mutex default_dtype_mutex;
  const std::lock_guard<std::mutex> lock;
  const c10::ScalarType before;
};

}  // namespace torch::test
