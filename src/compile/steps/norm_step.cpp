#include "src/compile/steps/norm_step.h"

#include "src/compile/passes/casts.h"
#include "src/compile/steps/quick_counts.h"
#include "src/compile/steps/view_step.h"

#include <shunt/elementwise/layer_norm.h>

#include <algorithm>
#include <optional>

namespace shunt::compiled {
namespace {

using elementwise::LayerNorm;

/// Where the operators have their tensors. Parameters may be missing, and only the gradient has what comes before.
struct Known {
  const char* name;
  size_t input, normalized, weight, bias;
  bool is_backward;  // with the gradient first, mean and rstd behind the shape, and a mask last
};
constexpr size_t kGradient = 0, kMean = 3, kRstd = 4, kEps = 4;
constexpr Known kKnown[] = {{"aten::native_layer_norm", 0, 1, 2, 3, false},
                            {"aten::native_layer_norm_backward", 1, 2, 5, 6, true}};

const Known* knownOf(const Graph::Node& node) { return entryOf(node, kKnown); }

using Places = std::vector<std::optional<PreparedStep::Place>>;  // by argument; none: no tensor

class PreparedNorm : public PreparedStep {
 public:
  PreparedNorm(const LayerNorm& norm, const Known& known, Places places, const Graph::Node& node)
      : PreparedStep(node), norm_(norm), known_(known), places_(std::move(places)) {}

  bool run(const Frame& frame, std::byte* const* out) const override {
    const std::byte* in[kMostArguments] = {};
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i] && (in[i] = elementsAt(*places_[i], frame)) == nullptr) return false;
    if (known_.is_backward)
      norm_.backward(in[kGradient], in[known_.input], in[kMean], in[kRstd], in[known_.weight], out[0], out[1], out[2]);
    else
      norm_.forward(in[known_.input], in[known_.weight], in[known_.bias], out[0], out[1], out[2]);
    ++quick_counts.rows;
    return true;
  }
  static constexpr size_t kMostArguments = 8;

 private:
  const LayerNorm norm_;
  const Known& known_;
  const Places places_;
};

bool isPlain(const Graph::Spec& spec, ScalarType dtype) {
  return spec.device == kCPU && spec.dtype == dtype && isRowMajor(spec);
}

/// Nothing where the normalized shape isn't that of the input's last dimensions.
std::optional<LayerNorm> describe(const Graph::Node& node, const Known& known) {
  const Graph::Value* input = node.arguments[known.input].value();
  if (input == nullptr) return std::nullopt;
  const std::vector<int64_t>& sizes = input->spec.sizes;
  const std::vector<int64_t>& normalized = node.arguments[known.normalized].literal.toIntVector();
  if (normalized.size() > sizes.size() || !std::equal(normalized.rbegin(), normalized.rend(), sizes.rbegin()))
    return std::nullopt;
  LayerNorm norm{.dtype = input->spec.dtype, .rows = 1, .n = 1};
  for (size_t d = 0; d < sizes.size(); ++d) (d + normalized.size() < sizes.size() ? norm.rows : norm.n) *= sizes[d];
  if (!known.is_backward) norm.eps = node.arguments[kEps].literal.toDouble();
  return norm.isTaken() ? std::optional(norm) : std::nullopt;
}

}  // namespace

bool isNorm(const Graph::Node& node) { return knownOf(node) != nullptr; }

std::shared_ptr<const PreparedStep> normOf(const Graph::Node& node,
                                           const std::function<PreparedStep::Place(size_t)>& place) {
  const Known& known = *knownOf(node);
  if (node.modes.inference || mayAutocast(node) || !callsOwnKernel(node)) return nullptr;
  const std::optional<LayerNorm> norm = describe(node, known);
  if (!norm) return nullptr;
  SHUNT_INTERNAL_ASSERT(node.arguments.size() <= PreparedNorm::kMostArguments, "an operator with more arguments");
  Places places(node.arguments.size());
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const Graph::Value* v = node.arguments[i].value();
    if (v == nullptr) continue;
    if (!isPlain(v->spec, norm->dtype)) return nullptr;
    const bool of_rows = known.is_backward && (i == kMean || i == kRstd);
    const bool is_whole = i == known.input || (known.is_backward && i == kGradient);
    if (numelOf(v->spec) != (of_rows ? norm->rows : is_whole ? norm->rows * norm->n : norm->n)) return nullptr;
    places[i] = place(i);
  }
  for (const Graph::Output& o : node.outputs)
    if (o.values[0] != nullptr && (!isPlain(o.values[0]->spec, norm->dtype) || !liesAsNew(o.values[0]->spec)))
      return nullptr;
  return std::make_shared<const PreparedNorm>(*norm, known, std::move(places), node);
}

}  // namespace shunt::compiled
