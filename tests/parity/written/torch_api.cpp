// The programs as libtorch runs them.
#include "tests/parity/written/all.h"

#include <torch/torch.h>

namespace parity::programs {
namespace {

struct TorchApi {
  using Tensor = at::Tensor;
  using Scalar = at::Scalar;
  using Context = torch::autograd::AutogradContext;
  template <class T>
  using Function = torch::autograd::Function<T>;
  using GradMode = c10::AutoGradMode;
  using InferenceMode = c10::InferenceMode;
  static constexpr auto kByte = at::kByte, kBool = at::kBool, kLong = at::kLong, kHalf = at::kHalf, kFloat = at::kFloat,
                        kDouble = at::kDouble;

  static Tensor of(const std::vector<double>& v) {
    const Tensor t = at::empty({static_cast<int64_t>(v.size())}, at::kDouble);
    std::copy(v.begin(), v.end(), t.data_ptr<double>());
    return t;
  }
  static Tensor leaf(const std::vector<double>& v) { return of(v).requires_grad_(); }
  static Tensor cast(const Tensor& t, at::ScalarType dtype) { return t.to(dtype); }
  static Tensor cat(const std::vector<Tensor>& list, int64_t dim) { return at::cat(list, dim); }
  static Tensor arange(const Scalar& end, at::ScalarType dtype) { return at::arange(end, dtype); }
  static Tensor channelsLast(const Tensor& t) { return t.contiguous(at::MemoryFormat::ChannelsLast); }
  static Tensor emptyLike(const Tensor& t) { return at::empty_like(t); }
  static Tensor pow(double base, const Tensor& e) { return at::pow(base, e); }
  static Tensor inferenceCopy(const Tensor& t) {
    const InferenceMode on(true);
    return t.clone();
  }
  static std::string format(const Tensor& t) {
    std::ostringstream out;
    out << t.suggest_memory_format();
    return out.str();
  }
  static std::vector<Tensor> grad(const Tensor& y, const Tensor& x, bool create_graph) {
    return torch::autograd::grad({y}, {x}, {}, c10::nullopt, create_graph);
  }
  static std::string dtype(const Tensor& t) {
    switch (t.scalar_type()) {
      case at::kByte:
        return "uint8";
      case at::kBool:
        return "bool";
      case at::kLong:
        return "int64";
      case at::kHalf:
        return "float16";
      case at::kFloat:
        return "float32";
      case at::kDouble:
        return "float64";
      default:
        return "another dtype";
    }
  }
  static std::string show(const Tensor& t) {
    const Tensor flat = t.detach().to(at::kDouble).contiguous();
    std::ostringstream out;
    out << dtype(t);
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const double v = flat.data_ptr<double>()[i];
      if (v != v)
        out << " nan";  // of either sign
      else
        out << ' ' << v;
    }
    return out.str();
  }
};

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
