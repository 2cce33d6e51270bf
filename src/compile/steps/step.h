// Step: one node of a graph, ready to be called: its literals converted, its tensors' places known, and whether it runs
// below Autograd. Constant once made; any thread may call it with a frame of its own.
#pragma once

#include "src/compile/steps/direct_call.h"
#include "src/compile/steps/expected_results.h"
#include "src/dispatch/own_kernels.h"
#include "src/trace/modes.h"

#include <shunt/elementwise/recorded_loop.h>
#include <shunt/trace/graph.h>

#include <memory>
#include <vector>

namespace shunt::compiled {

class PreparedStep;

struct Operand {
  enum class Kind : uint8_t { kLiteral, kTensor, kUndefined, kList, kOptionalList };
  Kind kind = Kind::kLiteral;
  bool last = false;  // nobody reads the slot afterwards: the tensor is moved
  Source source;
  IValue literal;
  std::vector<Operand> list;
};

/// What stood in a slot of the operator's table when the plan was made.
struct SeenEntry {
  int slot = -1;  // -1: none
  uint64_t version = 0;
  bool stands(const OpState& state) const { return slot < 0 || state.entry(slot).version == version; }
};

struct Step {
  struct Result {
    bool is_list = false;
    std::vector<int> slots;  // -1: not kept
  };
  explicit Step(const Graph::Node& made_of) : node(&made_of), op(made_of.op) {}

  // What quick calls read comes first, in as few cache lines as may be.
  // A program relies on no kernel of other keys having come for the operator (Plan's relied_on_).
  QuickCall quick = nullptr;
  std::shared_ptr<const PreparedStep> prepared;  // what `quick` does, where it is one of these
  int view = -1;    // of a prepared step that does the next one, a view of its result, too: where that one's result is
  int result = -1;  // where the first one is kept, unless it is a list; -1: nowhere
  // Of a prepared step: where its results' elements lie that have no tensors (Note [Buffers]); -1: they have.
  int64_t buffers[3] = {-1, -1, -1};
  int into[3] = {-1, -1, -1};  // and the given tensors that are its results (ProgramOptions::into); -1: new ones
  bool in_buffers = false;     // reads or makes such a one
  // Of the first operand, where that is a tensor.
  Source from;
  const Graph::Spec* from_spec = nullptr;  // of the graph's value
  std::vector<uint32_t> dead;  // slots that end here: those that aren't operands, and all of a prepared step
  std::vector<Operand> operands;
  std::vector<Result> results;

  const Graph::Node* node;
  OperatorHandle op;
  const Graph::Modes* modes = nullptr;  // the program's; with Autograd off where it is passed by
  /// A kernel above the backend's that is passed by. As long as it stands there, leaving it out changes nothing that
  /// anyone sees.
  SeenEntry passed_by;
  SeenEntry kernel;  // that `direct` calls without asking the table; none where it does
  SeenEntry below;   // that this kernel would call
  DirectCall direct = nullptr;
  const ExpectedResults::OfNode* expected = nullptr;  // what calls have to give; null: the library's kernels give it
  // Of an addition to a grad: the gradient is dead here, but in eager code somebody holds it, so that the leaf copies
  // it.
  bool copies_dead = false;
  // Of an addition to a grad: the gradient is a view in eager code, and here perhaps a tensor whose base is gone
  // (layOutAsLeaf, grad_step.h).
  bool adds_view = false;
  bool may_run_again = true;  // neither it nor a step before writes to a given tensor or draws random numbers
  // Note [Products without views]: steps that make its operands where these aren't there yet.
  std::vector<uint32_t> late;
};

using ::shunt::detail::isOfThisLibrary;

/// What the operator's table has for Autograd, where a kernel of the library's own may be left out for tensors like the
/// node's: a generated wrapper, or what only says that there is no formula. `inner_too`: so may the kernels of whatever
/// operators it calls.
SeenEntry autogradOf(const Graph::Node& node, bool inner_too);

/// Whether all kernels that these operators have for Autograd may be left out.
bool onlyRecord(const std::vector<const Operator*>& operators);

/// Makes a literal one of its argument's type.
void fitLiteral(const OperatorHandle& op, size_t argument, IValue& literal);

/// Calls the operator on the frame's tensors and keeps its results. Throws OtherResults where the program's kernel
/// gives others than were recorded. `recorded`: filled in, unless it is null.
void callStep(const Step& step, Frame& frame, trace_detail::ModesScope& modes,
              elementwise::RecordedLoop* recorded = nullptr);

}  // namespace shunt::compiled
