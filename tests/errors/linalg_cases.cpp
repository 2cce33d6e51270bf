// Matrix products and losses.
#include "tests/errors/bed.h"

namespace shunt::testing {

static std::vector<BadInput> productCases() {
  return {
      {"mm: inner sizes", {"mm", "2x3", "2x4"}, [](Bed& bed) { bed.a.mm(bed.b); }},
      {"mm: inner sizes with grad", {"mm", "2x3", "2x4"}, [](Bed& bed) { bed.leaf.mm(bed.b); }},
      {"mm: a vector", {"mm", "mat2", "matrix", "1-D"}, [](Bed& bed) { bed.a.mm(bed.vec4); }},
      {"mm: three dimensions", {"mm", "self", "matrix", "3-D"}, [](Bed& bed) { bed.cube.mm(bed.a); }},
      {"mm: two types", {"mm", "Float", "Double"}, [](Bed& bed) { bed.square.mm(bed.doubles.t()); }},
      {"mm: two types that fit", {"mm", "Float", "Long"}, [](Bed& bed) { bed.a.mm(bed.longs.t()); }},
      {"mm: of bools", {"mm", "Bool"}, [](Bed& bed) { bed.bools.mm(bed.bools.t()); }},
      {"bmm: of a matrix", {"bmm", "batch2", "3D", "2D"}, [](Bed& bed) { bed.cube.bmm(bed.a); }},
      {"bmm: batches", {"bmm", "[2, 4]", "[3, 4]"}, [](Bed& bed) { bed.cube.bmm(shunt::ones({3, 4, 5})); }},
      {"bmm: inner sizes", {"bmm", "[2, 4]", "[2, 3]"}, [](Bed& bed) { bed.cube.bmm(shunt::ones({2, 3, 5})); }},
      {"addmm: inner sizes", {"addmm", "2x3", "2x4"}, [](Bed& bed) { shunt::addmm(bed.vec4, bed.a, bed.b); }},
      {"addmm: self does not fit",
       {"addmm", "[2, 4]", "[2, 3]"},
       [](Bed& bed) { shunt::addmm(bed.b, bed.a, bed.square); }},
      {"addmm: self of another type",
       {"addmm", "Float", "Double"},
       [](Bed& bed) { shunt::addmm(bed.doubles, bed.a, bed.square); }},
      {"baddbmm: batches",
       {"baddbmm", "[2, 4]", "[3, 4]"},
       [](Bed& bed) { shunt::baddbmm(bed.cube, bed.cube, shunt::ones({3, 4, 4})); }},
      {"matmul: inner sizes", {"2x3", "2x4"}, [](Bed& bed) { bed.a.matmul(bed.b); }},
      {"matmul: 0-dim", {"matmul", "1D", "0D"}, [](Bed& bed) { bed.a.matmul(bed.scalar); }},
      {"matmul: batches",
       {"matmul", "(2)", "(3)", "dimension 0"},
       [](Bed& bed) { bed.cube.matmul(shunt::ones({3, 4, 5})); }},
      {"mv: sizes", {"mv", "2x3,4"}, [](Bed& bed) { bed.a.mv(bed.vec4); }},
      {"dot: sizes", {"dot", "4", "3"}, [](Bed& bed) { bed.vec4.dot(counted({3})); }},
      {"dot: matrices", {"dot", "1D", "2D"}, [](Bed& bed) { bed.a.dot(bed.a); }},
      {"outer: a matrix", {"outer", "1-D", "2-D"}, [](Bed& bed) { bed.a.outer(bed.vec4); }},
      {"linear: inner sizes", {"linear", "2x3", "4x2"}, [](Bed& bed) { shunt::linear(bed.a, bed.b); }},
      {"linear: bias", {"linear", "(4)", "(3)"}, [](Bed& bed) { shunt::linear(bed.a, bed.square, bed.vec4); }},
      {"linear: weight of three dimensions", {"linear", "t()", "3D"}, [](Bed& bed) { shunt::linear(bed.a, bed.cube); }},
  };
}

static std::vector<BadInput> lossCases() {
  const Tensor two = shunt::tensor({0, 1}), beyond = shunt::tensor({0, 3}), negative = shunt::tensor({-1, 0}),
               three = shunt::tensor({0, 1, 2});
  return {
      {"nll_loss: target out of range",
       {"nll_loss", "Target 3", "out of bounds"},
       [=](Bed& bed) { shunt::nll_loss(bed.a, beyond); }},
      {"nll_loss: negative target",
       {"nll_loss", "Target -1", "out of bounds"},
       [=](Bed& bed) { shunt::nll_loss(bed.a, negative); }},
      {"nll_loss: batch sizes", {"nll_loss", "[2, 3]", "[3]"}, [=](Bed& bed) { shunt::nll_loss(bed.a, three); }},
      {"nll_loss: float target", {"nll_loss", "Long", "Float"}, [](Bed& bed) { shunt::nll_loss(bed.a, counted({2})); }},
      {"nll_loss: target of two dimensions",
       {"nll_loss", "target", "1D"},
       [](Bed& bed) { shunt::nll_loss(bed.a, bed.longs); }},
      {"nll_loss: weight",
       {"nll_loss", "weight", "3 classes", "[4]"},
       [=](Bed& bed) { shunt::nll_loss(bed.a, two, bed.vec4); }},
      {"nll_loss: of longs", {"nll_loss", "Long"}, [=](Bed& bed) { shunt::nll_loss(bed.longs, two); }},
      {"nll_loss: reduction", {"nll_loss", "reduction", "7"}, [=](Bed& bed) { shunt::nll_loss(bed.a, two, {}, 7); }},
      {"nll_loss: one target for a batch",
       {"nll_loss", "[1, 3]", "[]"},
       [](Bed& bed) { shunt::nll_loss(bed.a.slice(0, 0, 1), shunt::zeros({}, kLong)); }},
      {"nll_loss: byte targets of an image",
       {"nll_loss", "Long", "Byte"},
       [](Bed& bed) { shunt::nll_loss_nd(bed.cube, shunt::zeros({2, 4}, kByte)); }},
      {"dropout: of longs", {"dropout", "Float", "Long"}, [](Bed& bed) { shunt::dropout(bed.longs, 0.5, true); }},
      {"nll_loss: three dimensions", {"nll_loss", "1D or 2D"}, [=](Bed& bed) { shunt::nll_loss(bed.cube, two); }},
      {"cross_entropy: target out of range",
       {"cross_entropy", "Target 3"},
       [=](Bed& bed) { shunt::cross_entropy_loss(bed.leaf, beyond); }},
      {"cross_entropy: batch sizes",
       {"cross_entropy", "2", "3"},
       [=](Bed& bed) { shunt::cross_entropy_loss(bed.a, three); }},
      {"cross_entropy: smoothing",
       {"cross_entropy", "label_smoothing", "between 0.0 and 1.0", "1.5"},
       [=](Bed& bed) { shunt::cross_entropy_loss(bed.a, two, {}, 1, -100, 1.5); }},
      {"mse_loss: reduction", {"mse_loss", "reduction", "5"}, [](Bed& bed) { shunt::mse_loss(bed.a, bed.a, 5); }},
  };
}

std::vector<BadInput> linalgCases() {
  std::vector<BadInput> rows = productCases();
  for (BadInput& row : lossCases()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
