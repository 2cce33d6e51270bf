#include "src/compile/steps/product_step.h"

#include "src/compile/passes/casts.h"
#include "src/compile/steps/quick_counts.h"

#include <algorithm>
#include <cstring>

namespace shunt::compiled {
namespace {

bool isOnCpu(const Graph::Value* v, ScalarType dtype) {
  return v != nullptr && v->spec.device == kCPU && v->spec.dtype == dtype;
}

/// Of a matrix, or of each of a batch.
std::optional<elementwise::MatrixLayout> layoutOf(const Graph::Value* v, bool is_batch) {
  const std::vector<int64_t>&sizes = v->spec.sizes, &strides = v->spec.strides;
  const size_t first = is_batch ? 1 : 0;
  if (sizes.size() != first + 2 || std::ranges::find(sizes, 0) != sizes.end()) return std::nullopt;
  return elementwise::MatrixLayout{sizes[first], sizes[first + 1], strides[first], strides[first + 1]};
}

/// Nothing where the operator would copy it in another way than rows or all of it.
std::optional<ProductNode::Added> addedAs(const Graph::Spec& self, const Graph::Spec& result) {
  if (!isRowMajor(self)) return std::nullopt;
  if (self.sizes == result.sizes) return ProductNode::Added::kAll;
  const bool is_row = self.sizes.size() == 1 && self.sizes[0] == result.sizes[1];
  return is_row ? std::optional(ProductNode::Added::kRow) : std::nullopt;
}

}  // namespace

std::optional<ProductNode> productOf(const Graph::Node& node) {
  const bool adds = node.is("aten::addmm"), is_batch = node.is("aten::bmm");
  if ((!adds && !is_batch && !node.is("aten::mm")) || node.modes.inference || mayAutocast(node) ||
      !callsOwnKernel(node))
    return std::nullopt;
  ProductNode out;
  out.first_matrix = adds ? 1 : 0;
  const Graph::Value *a = node.arguments[out.first_matrix].value(), *b = node.arguments[out.first_matrix + 1].value();
  const Graph::Value* result = node.result();
  if (result == nullptr || !isOnCpu(a, result->spec.dtype) || !isOnCpu(b, result->spec.dtype)) return std::nullopt;
  const auto left = layoutOf(a, is_batch), right = layoutOf(b, is_batch);
  if (!left || !right || !liesAsNew(result->spec)) return std::nullopt;
  out.result = &result->spec;
  double beta = 0, alpha = 1;
  if (adds) {
    beta = node.arguments[3].literal.toScalar().toDouble();
    alpha = node.arguments[4].literal.toScalar().toDouble();
    const Graph::Value* self = node.arguments[0].value();
    const auto added = isOnCpu(self, result->spec.dtype) ? addedAs(self->spec, result->spec) : std::nullopt;
    if (!added) return std::nullopt;
    if (beta != 0) out.added = *added;
  }
  using elementwise::MatrixProduct;
  const auto product = is_batch ? MatrixProduct::ofEach(result->spec.dtype, a->spec.sizes[0], *left, a->spec.strides[0],
                                                        *right, b->spec.strides[0])
                                : MatrixProduct::of(result->spec.dtype, *left, *right, beta, alpha);
  if (!product) return std::nullopt;
  out.product = *product;
  return out;
}

PreparedProduct::PreparedProduct(const ProductNode& node, const Place& a, const Place& b, const Place& added)
    : PreparedStep(*node.result),
      node_(node),
      a_(a),
      b_(b),
      added_(added),
      row_bytes_(static_cast<size_t>(node.result->sizes[1] * elementSize(node.result->dtype))),
      bytes_(static_cast<size_t>(node.result->sizes[0]) * row_bytes_) {}

bool PreparedProduct::run(const Frame& frame, std::byte* const* out) const {
  using Added = ProductNode::Added;
  const std::byte *a = elementsAt(a_, frame), *b = elementsAt(b_, frame);
  const std::byte* added = node_.added == Added::kNothing ? a : elementsAt(added_, frame);
  if (a == nullptr || b == nullptr || added == nullptr) return false;
  const size_t bytes = node_.added == Added::kRow ? row_bytes_ : bytes_;
  for (size_t at = 0; node_.added != Added::kNothing && at < bytes_; at += bytes)
    std::memcpy(out[0] + at, added, bytes);
  node_.product.run(a, b, out[0]);
  ++quick_counts.products;
  return true;
}

}  // namespace shunt::compiled
