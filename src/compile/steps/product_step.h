// Products of a plan: mm, addmm and bmm of matrices that lie as the graph says, multiplied without their operators.
//
// Note [Products without views]
// Nearly every operand of a backward pass's products is a transposed matrix. A view inside of the graph that nobody
// reads but products is made late: its step is passed over, and a product on its quick way takes the matrix behind with
// the strides that the view would have. A product that is called by its operator all the same (a registration
// meanwhile, tensors that lie in another way) has the views made first (Step::late). So the tensor behind lives until
// the last of these products (Step::dead), and it is only done where no node may give that tensor other sizes or
// strides.
#pragma once

#include "src/compile/steps/prepared_step.h"

#include <shunt/elementwise/matrix_product.h>

#include <optional>

namespace shunt::compiled {

/// A product as its node has it. Constant.
struct ProductNode {
  enum class Added : uint8_t { kNothing, kRow, kAll };  // what the result begins as
  elementwise::MatrixProduct product;
  Added added = Added::kNothing;
  size_t first_matrix = 0;  // among the node's arguments; the second one follows, and what is added is argument 0
  const Graph::Spec* result = nullptr;

  bool isMatrix(size_t argument) const { return argument == first_matrix || argument == first_matrix + 1; }
};

/// Nothing where the node is no such product, or the library's own kernel doesn't stand for it.
std::optional<ProductNode> productOf(const Graph::Node& node);

/// What such a step multiplies.
class PreparedProduct : public PreparedStep {
 public:
  /// Places of the matrices and of what is added, which are behind the views that the node's arguments are.
  PreparedProduct(const ProductNode& node, const Place& a, const Place& b, const Place& added);
  bool run(const Frame& frame, std::byte* const* out) const override;

 private:
  const ProductNode node_;
  const Place a_, b_, added_;
  const size_t row_bytes_, bytes_;
};

}  // namespace shunt::compiled
