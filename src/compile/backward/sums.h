// Sums of what one tensor gets by several edges of a compiled backward pass.
//
// Note [Sums in the pass]
// A function that uses an argument in several places gives it a gradient by an edge each, and the engine adds these one
// by one, in memory. Where nothing has come to that tensor before, the first one is moved and the others are added to
// it, in the edges' order: so the pass may add them itself, in the region that makes them, and give the sum, a new
// tensor, by the first edge and nothing by the others. It has the bits and the version that the engine's sum has, found
// by runs of the engine when the pass is recorded. Where that adds to the gradient itself, the sum's version goes on
// from the one that the gradient comes with. The engine adds where the tensor has got a gradient already, and wherever
// its additions are seen: by hooks behind the node, dispatch modes, a caller of the node itself, kernels for additions
// that aren't the library's.
#pragma once

#include "src/compile/backward/joint.h"

#include <shunt/autograd/node.h>

#include <atomic>
#include <vector>

namespace shunt::compiled {

struct Sum {
  std::vector<size_t> parts;  // numbers of contributions, in order
  SumVersion version;
};

/// Those that the joint graph's pass may give.
std::vector<Sum> sumsOf(const Joint& joint);

/// Puts the sums in the places of their first parts among the outputs of a pass's graph; null in those of the others.
void giveSums(Graph& pass, const std::vector<Sum>& sums);
/// What such a pass gives, of what one without sums has given.
void addUp(autograd::variable_list& contributed, const std::vector<Sum>& sums);
/// What comes by the edges of such a pass's node.
std::vector<JointContribution> withSums(const Joint& joint, const std::vector<Sum>& sums);

/// Whether the engine's additions are the library's own kernels, as the tables are now. Any thread.
class OwnAdditions {
 public:
  bool now() const;

 private:
  mutable std::atomic<uint64_t> checked_at_{~uint64_t{0}};  // table_changes when they were; the others aren't noted
};

}  // namespace shunt::compiled
