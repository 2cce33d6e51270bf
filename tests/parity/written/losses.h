// Programs about losses of classes: every reduction with weights, classes that are ignored, probabilities, smoothed
// labels and empty batches, which draws rarely bring together.
#pragma once

#include "tests/parity/written/program.h"

namespace parity::programs {

template <class Api>
struct LossPrograms {
  using Tensor = typename Api::Tensor;

  static constexpr int64_t kClasses = 3;

  /// As nll_loss wants them, in quarters, so that sums are exact in any order.
  static std::vector<double> scores(int64_t n) {
    std::vector<double> out;
    for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>(i * 5 % 7) / 4 - 1);
    return out;
  }
  static Tensor classes(int64_t n, const std::string& which) {
    std::vector<double> out;
    for (int64_t i = 0; i < n; ++i)
      out.push_back(which == "all of one" ? 1 : which == "some at -100" && i % 2 == 0 ? -100 : i * 2 % kClasses);
    return Api::cast(Api::of(out), Api::kLong);
  }
  static int64_t product(const std::vector<int64_t>& sizes) {
    int64_t n = 1;
    for (const int64_t s : sizes) n *= s;
    return n;
  }

  /// The loss and its gradient.
  template <class F>
  static void look(Log& log, const std::string& what, const std::vector<int64_t>& sizes, bool narrow, const F& loss) {
    log.attempt(what, [&] {
      const Tensor leaf = Api::leaf(scores(product(sizes)));
      const Tensor shaped = leaf.view(sizes), x = narrow ? Api::cast(shaped, Api::kFloat) : shaped;
      const Tensor y = loss(x);
      std::ostringstream out;
      out << "sizes";
      for (const int64_t s : y.sizes()) out << ' ' << s;
      out << ", " << Api::show(y);
      std::vector<double> seeds;
      for (int64_t i = 0; i < y.numel(); ++i) seeds.push_back(static_cast<double>(i + 1) / 2);
      (y.reshape({-1}) * Api::cast(Api::of(seeds), y.scalar_type())).sum().backward();
      out << ", gradient " << Api::show(leaf.grad() + 0);  // zeros of one sign
      return out.str();
    });
  }

  static void program(Log& log, const std::string& kind, const std::vector<int64_t>& sizes, bool narrow) {
    std::vector<int64_t> samples = sizes;
    samples.erase(samples.begin() + (sizes.size() < 2 ? 0 : 1));
    const std::vector<std::pair<std::string, std::vector<double>>> weights{
        {"no", {}}, {"some", {0.5, 2, 0.25}}, {"zero", {0, 0, 2}}};
    for (const auto& [weight_name, numbers] : weights)
      for (const int64_t reduction : {0, 1, 2})
        for (const std::string which : {"each", "all of one", "some at -100"})
          for (const int64_t ignored : {-100, 1})
            for (const double smoothing : {0.0, 0.25}) {
              if (kind == "nll_loss" && smoothing != 0) continue;
              if (kind == "probabilities" && (which != "each" || ignored != -100)) continue;
              if (which == "some at -100" && ignored != -100) continue;
              const auto dtype = narrow ? Api::kFloat : Api::kDouble;
              const Tensor weight = numbers.empty() ? Tensor() : Api::cast(Api::of(numbers), dtype);
              const Tensor target = kind == "probabilities"
                                        ? Api::cast(Api::of(scores(product(sizes))).view(sizes).abs(), dtype)
                                        : classes(product(samples), which).view(samples);
              std::ostringstream what;
              what << weight_name << " weights, reduction " << reduction << ", classes " << which << ", ignoring "
                   << ignored << ", smoothing " << smoothing;
              look(log, what.str(), sizes, narrow, [&](const Tensor& x) {
                return kind == "nll_loss" ? nll_loss_nd(x, target, weight, reduction, ignored)
                                          : cross_entropy_loss(x, target, weight, reduction, ignored, smoothing);
              });
            }
  }

  static void addAll(std::vector<Program>& all) {
    const std::vector<std::vector<int64_t>> shapes{{0, 3},    {1, 3},    {5, 3},    {3},
                                                   {2, 3, 2}, {0, 3, 2}, {2, 3, 0}, {2, 3, 1, 2}};
    for (const std::string kind : {"nll_loss", "cross_entropy_loss", "probabilities"})
      for (const auto& sizes : shapes)
        for (const bool narrow : {false, true}) {
          if (narrow && kind != "nll_loss") continue;  // logarithms differ in their last bits
          std::string name = kind + " of";
          for (const int64_t s : sizes) name += ' ' + std::to_string(s);
          all.push_back({name + (narrow ? " in float32" : ""), [=](Log& log) { program(log, kind, sizes, narrow); }});
        }
  }
};

}  // namespace parity::programs
