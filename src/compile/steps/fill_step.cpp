#include "src/compile/steps/fill_step.h"

#include "src/compile/passes/casts.h"
#include "src/compile/steps/quick_counts.h"

#include <cstring>
#include <functional>
#include <numeric>

namespace shunt::compiled {
namespace {

constexpr int64_t kMostElements = 512;

class PreparedFill : public PreparedStep {
 public:
  PreparedFill(std::vector<std::byte> elements, const Place& like, const Graph::Spec& result)
      : PreparedStep(result), elements_(std::move(elements)), like_(like) {}

  bool run(const Frame& frame, std::byte* const* out) const override {
    if (elementsAt(like_, frame) == nullptr) return false;
    std::memcpy(out[0], elements_.data(), elements_.size());
    ++quick_counts.fills;
    return true;
  }

 private:
  const std::vector<std::byte> elements_;
  const Place like_;
};

template <class T>
std::vector<std::byte> filledWith(T value, int64_t n) {
  std::vector<std::byte> out(static_cast<size_t>(n) * sizeof(T));
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  return out;
}

}  // namespace

bool isFill(const Graph::Node& node) { return node.is("aten::ones_like") || node.is("aten::zeros_like"); }

std::shared_ptr<const PreparedStep> fillOf(const Graph::Node& node, const PreparedStep::Place& like) {
  const Graph::Value *from = node.arguments[0].value(), *result = node.result();
  if (from == nullptr || result == nullptr || node.modes.inference || mayAutocast(node)) return nullptr;
  const Graph::Spec& spec = result->spec;
  const int64_t n = std::accumulate(spec.sizes.begin(), spec.sizes.end(), int64_t{1}, std::multiplies<>());
  if (n == 0 || n > kMostElements || spec.device != kCPU || from->spec.device != kCPU || spec.requires_grad ||
      !liesAsNew(spec) || spec.wrapped_number || !callsOwnKernel(node))
    return nullptr;
  const int one = node.is("aten::ones_like") ? 1 : 0;
  if (spec.dtype == kFloat) return std::make_shared<const PreparedFill>(filledWith<float>(one, n), like, spec);
  if (spec.dtype == kDouble) return std::make_shared<const PreparedFill>(filledWith<double>(one, n), like, spec);
  return nullptr;
}

}  // namespace shunt::compiled
