// The programs as libtorch runs them.
#include "tests/parity/written/all.h"
#include "tests/parity/written/api.h"

#include <torch/torch.h>

namespace parity::programs {
namespace {

struct TorchLibrary {
  using Tensor = at::Tensor;
  using Scalar = at::Scalar;
  using ScalarType = at::ScalarType;
  using Context = torch::autograd::AutogradContext;
  template <class T>
  using Function = torch::autograd::Function<T>;
  using GradMode = c10::AutoGradMode;
  using InferenceMode = c10::InferenceMode;
  static constexpr auto kByte = at::kByte, kBool = at::kBool, kLong = at::kLong, kHalf = at::kHalf, kFloat = at::kFloat,
                        kDouble = at::kDouble;
  static constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

  static Tensor empty(int64_t n, ScalarType dtype) { return at::empty({n}, dtype); }
  static Tensor arange(const Scalar& end, ScalarType dtype) { return at::arange(end, dtype); }
  static Tensor pow(double base, const Tensor& e) { return at::pow(base, e); }
  static Tensor concatenate(const std::vector<Tensor>& list, int64_t dim) { return at::cat(list, dim); }
  static std::vector<Tensor> grad(const Tensor& y, const Tensor& x, bool create_graph) {
    return torch::autograd::grad({y}, {x}, {}, c10::nullopt, create_graph);
  }
};
using TorchApi = Api<TorchLibrary>;

struct DiscardWarnings : c10::WarningHandler {
  void process(const c10::SourceLocation&, const std::string&, const bool) override {}
};

}  // namespace

void setUp() {
  static DiscardWarnings discard;
  c10::Warning::set_warning_handler(&discard);
  at::set_num_threads(1);
}

std::vector<Program> torchPrograms() { return allPrograms<TorchApi>(); }

}  // namespace parity::programs
