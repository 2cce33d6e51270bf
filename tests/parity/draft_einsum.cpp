// Equations of einsum with operands that fit them.
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"

#include <map>

namespace parity {
namespace {

/// Products, outer products, sums, diagonals, permutations, batches, ellipses; with and without an output.
constexpr const char* kEquations[] = {"ij,jk->ik",
                                      "ij,kj->ki",
                                      "bij,bjk->bik",
                                      "bij,bkj->ikb",
                                      "i,i->",
                                      "i,i",
                                      "i,j->ij",
                                      "ij,j",
                                      "ij->ji",
                                      "ij->",
                                      "ij",
                                      "ba",
                                      "ii->i",
                                      "ii",
                                      "iji->j",
                                      "ij,ij->ij",
                                      "ij,jk,kl->il",
                                      "ij,kl->ijkl",
                                      "aBc,Bd->acd",
                                      "...i->...",
                                      "i...->...i",
                                      "...ij,jk->...ik",
                                      "b...,b...->...",
                                      "...,i->i...",
                                      "ij , jk -> ik",
                                      "ijk,ijl,i->kl",
                                      "ij,i,j->",
                                      "i,ij,jk->k"};

}  // namespace

void drawEinsum(Draft& d) {
  const std::string equation = d.rng.pick(std::vector<std::string>(std::begin(kEquations), std::end(kEquations)));
  const std::vector<int64_t> ellipsis = drawShape(d.rng, 2);
  std::map<char, int64_t> sizes;
  std::vector<std::vector<int64_t>> operands(1);
  for (size_t at = 0; at < equation.size() && equation[at] != '-'; ++at) {
    const char c = equation[at];
    if (c == ' ') continue;
    if (c == ',') {
      operands.emplace_back();
    } else if (c == '.') {
      operands.back().insert(operands.back().end(), ellipsis.begin(), ellipsis.end());
      at += 2;
    } else {
      if (!sizes.contains(c)) sizes[c] = d.rng.chance(0.04) ? 0 : d.rng.range(1, 5);
      operands.back().push_back(sizes[c]);
    }
  }
  std::vector<int64_t> indices;
  for (const std::vector<int64_t>& operand : operands) {
    indices.push_back(addTensor(d.rng, d.c, d.dtype, operand, d.data));
    TensorSpec& t = d.c.tensors.back();
    t.requires_grad = d.with_grad && isFloating(d.dtype) && d.rng.chance(0.75);
  }
  d.preset("equation", Value::ofString(equation));
  d.preset("tensors", Value::ofTensors(indices));
}

}  // namespace parity
