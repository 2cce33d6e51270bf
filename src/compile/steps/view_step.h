// View steps: views that nobody sees outside of the run are made from the sizes that the graph has, without a call;
// late or never where only products read them (Note [Products without views]); or not at all where what they show ends
// with them: it becomes what the view would be.
#pragma once

#include "src/compile/passes/aliases.h"
#include "src/compile/steps/lies_as.h"
#include "src/trace/uses.h"

#include <shunt/compile/plan_description.h>
#include <shunt/tensor/tensor.h>

namespace shunt::compiled {

class Frame;
struct Step;

/// Whether the node makes a view that begins where its argument does: no other steps are fitted here.
bool isPlainView(const Graph::Node& node);
/// The same of one that no history goes through, so that its result may leave the graph, too.
bool isDetach(const Graph::Node& node);
/// Whether it makes a plain view, and nobody sees more of it than its elements.
bool isViewInside(const trace_detail::Uses& uses, const Graph::Node& node);
/// Whether a call for plain CPU tensors runs the library's own kernels of the view operator.
bool callsOwnView(const Graph::Node& node);

int64_t numelOf(const Graph::Spec& spec);

/// Fits the step with a direct call and a quick one that make the view, where it stands for the library's own view
/// operator, and nothing but operators of the dictionary reads the view and what is made of it, or it becomes a grad;
/// and `detach` with a quick one.
void makeViewDirectly(const trace_detail::Uses& uses, Step& step);
/// Lets a step that makeViewDirectly() has fitted do nothing quickly. `known`: its argument surely lies as in the
/// graph.
void makeViewLate(Step& step, bool known);
/// Whether it has.
bool doesNothing(const Step& step);
/// Makes the view of a late step of this run after all, by the library's own operator: what it would have been at its
/// place, whatever has been registered since. False where its argument doesn't lie as in the graph.
bool makeLateView(const Step& step, Frame& frame);
/// How the step makes its view; nullopt where nothing here was fitted to it.
std::optional<PlanPart::Call> howViewed(const Step& step);

}  // namespace shunt::compiled
