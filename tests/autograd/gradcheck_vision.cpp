// Gradcheck's cases of convolutions, batch_norm and pooling.
#include "tests/autograd/gradcheck_cases.h"

namespace shunt::test {
namespace {

using Sizes = std::vector<int64_t>;

template <class F>
GradcheckCase of(const char* op, std::vector<Sizes> sizes, F f) {
  return {op,
          [=] {
            variable_list inputs;
            for (size_t i = 0; i < sizes.size(); ++i) inputs.push_back(var(sizes[i], -2, 2, i + 1));
            return inputs;
          },
          [f](const variable_list& x) {
            variable_list results;
            if constexpr (std::is_same_v<decltype(f(x)), Tensor>)
              results = {f(x)};
            else
              results = f(x);
            return results;
          }};
}

/// How a convolution's window moves.
struct Moves {
  Sizes stride, padding, dilation;
  bool transposed = false;
  Sizes output_padding = {0};
  int64_t groups = 1;
};

void addConvolution(Cases& c, const Sizes& input, const Sizes& weight, int64_t channels, const Sizes& result,
                    const Moves& m) {
  c.push_back(of("convolution", {input, weight, {channels}}, [=](const variable_list& x) {
    return convolution(x[0], x[1], x[2], m.stride, m.padding, m.dilation, m.transposed, m.output_padding, m.groups);
  }));
  c.push_back(of("convolution_backward", {result, input, weight}, [=](const variable_list& x) {
    const auto [i, w, b] = convolution_backward(x[0], x[1], x[2], Sizes{channels}, m.stride, m.padding, m.dilation,
                                                m.transposed, m.output_padding, m.groups, {true, true, true});
    return variable_list{i, w, b};
  }));
}

void addConvolutions(Cases& c) {
  addConvolution(c, {2, 2, 4, 3}, {3, 2, 2, 3}, 3, {2, 3, 5, 3}, {{1, 1}, {1, 1}, {1, 1}});
  addConvolution(c, {1, 2, 5, 4}, {4, 1, 2, 1}, 4, {1, 4, 2, 2}, {{2}, {0}, {2, 1}, false, {0}, 2});
  addConvolution(c, {2, 2, 5}, {2, 2, 3}, 2, {2, 2, 3}, {{2}, {1}, {1}});
  addConvolution(c, {1, 2, 2, 3}, {2, 1, 2, 2}, 2, {1, 2, 4, 5}, {{2, 2}, {1, 1}, {2, 1}, true, {1, 1}, 2});
}

void addBatchNorm(Cases& c) {
  for (const Sizes& input : {Sizes{4, 2}, Sizes{2, 2, 3}, Sizes{2, 2, 1, 2}}) {
    c.push_back(of("native_batch_norm", {input, {2}, {2}},
                   [](const variable_list& x) { return batch_norm(x[0], x[1], x[2], {}, {}, true, 0.1, 0.1, false); }));
    const auto statistics = [] { return std::pair(spread({2}, -1, 1, 7), spread({2}, 0.5, 2, 8)); };
    c.push_back(of("native_batch_norm", {input, {2}}, [=](const variable_list& x) {
      const auto [mean, var] = statistics();
      return batch_norm(x[0], x[1], {}, mean, var, false, 0.1, 0.1, false);
    }));
    for (const bool train : {true, false}) {
      // With the statistics that belong to the input: the gradient goes through them.
      c.push_back(of("native_batch_norm_backward", {input, input, {2}}, [=](const variable_list& x) {
        const auto [running_mean, running_var] = statistics();
        const auto [y, mean, invstd] = native_batch_norm(x[1].detach(), {}, {}, {}, {}, true, 0.1, 0.1);
        const auto [a, w, b] = native_batch_norm_backward(x[0], x[1], x[2], running_mean, running_var, mean, invstd,
                                                          train, 0.1, {true, true, true});
        return variable_list{a, w, b};
      }));
    }
  }
}

void addPooling(Cases& c) {
  const Sizes image = {2, 1, 4, 5};
  c.push_back(of("max_pool2d_with_indices", {image},
                 [](const variable_list& x) { return max_pool2d(x[0], {2, 3}, {2, 1}, {1, 1}); }));
  c.push_back(of("max_pool2d_with_indices", {{1, 5, 4}},
                 [](const variable_list& x) { return max_pool2d(x[0], 2, {}, 0, {2, 1}, true); }));
  c.push_back(of("max_pool2d_with_indices_backward", {{2, 1, 2, 2}, image}, [](const variable_list& x) {
    const Tensor indices = std::get<1>(max_pool2d_with_indices(x[1].detach(), 2));
    return max_pool2d_with_indices_backward(x[0], x[1], 2, 2, 0, 1, false, indices);
  }));
  for (const bool count : {true, false}) {
    c.push_back(of("avg_pool2d", {image},
                   [=](const variable_list& x) { return avg_pool2d(x[0], {3, 2}, {2, 2}, {1, 1}, true, count); }));
    c.push_back(of("avg_pool2d_backward", {{2, 1, 3, 3}, image}, [=](const variable_list& x) {
      return avg_pool2d_backward(x[0], x[1], {3, 2}, {2, 2}, {1, 1}, true, count, std::nullopt);
    }));
  }
  c.push_back(
      of("avg_pool2d", {image}, [](const variable_list& x) { return avg_pool2d(x[0], 2, {}, 0, false, true, 3); }));
  c.push_back(
      of("_adaptive_avg_pool2d", {image}, [](const variable_list& x) { return adaptive_avg_pool2d(x[0], {3, 2}); }));
  c.push_back(of("_adaptive_avg_pool2d_backward", {{2, 1, 3, 2}, image},
                 [](const variable_list& x) { return _adaptive_avg_pool2d_backward(x[0], x[1]); }));
}

}  // namespace

Cases visionCases() {
  Cases c;
  addConvolutions(c);
  addBatchNorm(c);
  addPooling(c);
  return c;
}

}  // namespace shunt::test
