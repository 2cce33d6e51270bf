#include "src/compile/program/placement.h"

#include "src/compile/passes/casts.h"
#include "src/compile/passes/host_node.h"
#include "src/compile/steps/view_step.h"
#include "src/trace/values_of.h"

#include <algorithm>
#include <optional>

namespace shunt::compiled {

bool isRegion(const Group& g) { return g.single == nullptr || g.rows != nullptr; }
size_t stepsOf(const Group& g) { return g.region.size() + (g.single != nullptr ? 1 : 0) + g.after.size(); }

Placement::Placement(const Graph& graph, const Aliases& aliases, const History& history,
                     const std::vector<Group>& groups, const ProgramOptions& options, const Buffers& buffers)
    : graph_(graph),
      uses_(graph),
      aliases_(aliases),
      history_(history),
      options_(options),
      buffers_(buffers),
      late_(buffers.views) {
  for (const Group& g : groups) {
    const size_t begin = order_.size();
    for (const PointwiseNode* p : g.region) order_.push_back(p->node);
    if (g.single != nullptr) order_.push_back(g.single);
    for (const PointwiseNode* p : g.after) order_.push_back(p->node);
    for (size_t i = begin; i < order_.size() && isRegion(g); ++i) ends_[order_[i]] = order_.size();
  }
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  for (const Graph::Node* node : order_) noteReshaped(*node);
  findLastReaders();
  findTargets();
  findProducts();
  placeTensors();
}

void Placement::findLastReaders() {
  for (size_t i = 0; i < order_.size(); ++i)
    for (const Graph::Argument& a : order_[i]->arguments)
      for (const Graph::Value* v : a.values)
        if (v != nullptr) last_[aliases_.tensorOf(v)] = i;
  for (const Graph::Value* v : graph_.outputs())
    if (v != nullptr) last_[aliases_.tensorOf(v)] = kNever;
}

/// Outputs whose memory no other output may show, which is the caller's to keep.
void Placement::findTargets() {
  const std::vector<Graph::Value*>& outputs = graph_.outputs();
  for (size_t i = 0; i < options_.into.size(); ++i) {
    if (options_.into[i] < 0 || outputs[i] == nullptr) continue;
    const Graph::Value* made = aliases_.tensorOf(outputs[i]);
    const auto shares = [&](const Graph::Value* v) { return v != nullptr && aliases_.of(v) == aliases_.of(made); };
    if (made->kind == Graph::Value::Kind::kResult && std::ranges::count_if(outputs, shares) == 1)
      into_[made] = options_.into[i];
  }
}

int Placement::intoOf(const Graph::Value* v) const {
  const auto known = into_.find(v);
  return known != into_.end() ? known->second : -1;
}

void Placement::placeTensors() {
  const auto given = [&](const std::vector<Graph::Value*>& values, Source::Kind kind) {
    for (size_t i = 0; i < values.size(); ++i) sources_[values[i]] = {kind, static_cast<uint32_t>(i)};
  };
  given(graph_.inputs(), Source::Kind::kInput);
  given(graph_.constants(), Source::Kind::kConstant);
  // What a run by loops and in buffers leaves alone comes last.
  const auto placeResults = [&](bool rarely) {
    for (const Graph::Node* node : order_)
      for (const Graph::Output& o : node->outputs)
        for (const Graph::Value* v : o.values)
          if (v != nullptr && aliases_.tensorOf(v) == v && last_.contains(v) && isRarelyATensor(*node, v) == rarely)
            sources_[v] = {Source::Kind::kSlot, static_cast<uint32_t>(slots_++)};
  };
  placeResults(false);
  kept_slots_ = slots_;
  placeResults(true);
}

// Note [Products without views]. Users come behind what they use, so that from the end each is known in time.
void Placement::findProducts() {
  for (size_t i = 0; i < order_.size(); ++i) {
    if (ends_.contains(order_[i]) || autogradPassedBy(*order_[i]).slot < 0) continue;
    if (std::optional<ProductNode> product = compiled::productOf(*order_[i])) products_.emplace(order_[i], *product);
  }
  for (size_t i = order_.size(); i-- > 0;)
    if (mayBeLate(*order_[i])) late_.insert(order_[i]);
  for (const Graph::Node* node : order_)
    trace_detail::forArguments(*node, [&](const Graph::Value* v) {
      size_t& last = last_.at(aliases_.tensorOf(behind(v)));
      last = std::max(last, position_.at(node));
    });
}

bool Placement::mayPassBy(const Graph::Node& view) const {
  return !ends_.contains(&view) && isViewInside(uses_, view) && callsOwnView(view) &&
         !reshaped_.contains(aliases_.of(view.result())) && autogradPassedBy(view).slot >= 0;
}

bool Placement::mayBeLate(const Graph::Node& node) const {
  if (!mayPassBy(node)) return false;
  const auto users = uses_.of(node.result());
  return !users.empty() && std::ranges::all_of(users, [&](const Graph::Node* user) {
    return late_.contains(user) || (products_.contains(user) && readsAsMatrix(*user, node.result()));
  });
}

bool Placement::readsAsMatrix(const Graph::Node& product, const Graph::Value* v) const {
  for (size_t i = 0; i < product.arguments.size(); ++i)
    if (product.arguments[i].value() == v && !products_.at(&product).isMatrix(i)) return false;
  return true;
}

const Graph::Value* Placement::behind(const Graph::Value* v) const {
  while (v->node != nullptr && late_.contains(v->node)) v = v->node->arguments[0].value();
  return v;
}

/// Whether the node is of a region whose last node comes after all that read the value.
bool Placement::staysInRegion(const Graph::Node& node, const Graph::Value* v) const {
  const auto end = ends_.find(&node);
  return end != ends_.end() && last_.at(v) < end->second;
}

/// Whether a run by loops and in buffers makes no tensor of it.
bool Placement::isRarelyATensor(const Graph::Node& node, const Graph::Value* v) const {
  return staysInRegion(node, v) || buffers_.at.contains(v) || isRarelyMade(node);
}

PreparedStep::Place Placement::placeOf(const Graph::Value* v) const {
  v = behind(v);
  if (const auto buffer = buffers_.at.find(aliases_.tensorOf(v)); buffer != buffers_.at.end())
    return {{Source::Kind::kBuffer, buffer->second}, nullptr};
  if (v->node != nullptr && isLateGrad(*v->node)) {
    const Source leaf = sourceOf(v->node->arguments[0].value());
    return {{leaf.kind == Source::Kind::kInput ? Source::Kind::kInputGrad : Source::Kind::kConstantGrad, leaf.index},
            &v->spec};
  }
  return {sourceOf(v), isGuarded(v) ? nullptr : &v->spec};
}

int Placement::slotOf(const Graph::Value* v) const {
  const auto known = v != nullptr ? sources_.find(v) : sources_.end();
  return known != sources_.end() ? static_cast<int>(known->second.index) : -1;
}

bool Placement::isReadFrom(const Graph::Value* v, size_t position) const {
  const auto known = last_.find(v);
  return known != last_.end() && known->second >= position;
}

const ProductNode* Placement::productOf(const Graph::Node& node) const {
  const auto known = products_.find(&node);
  return known != products_.end() ? &known->second : nullptr;
}

SeenEntry Placement::autogradPassedBy(const Graph::Node& node) const {
  const bool view_leaves = node.op.schema().hasAnyAliasInfo() && writtenInPlace(node) == nullptr &&
                           history_.leaving.contains(&node) && !isCast(node);
  return history_.recorded.contains(&node) || view_leaves ? SeenEntry() : autogradOf(node, options_.inner_only_record);
}

/// Notes the memory of tensors whose sizes and strides may be others after the node. Of the dictionary's operators
/// these are such that write and that no region has taken; what trace's operators write is the tensor's grad.
void Placement::noteReshaped(const Graph::Node& node) {
  const bool of_dictionary = isOfDictionary(node);
  // A host step gets addresses.
  if (isHostStep(node) || node.op.op().name().starts_with("trace::") || (of_dictionary && ends_.contains(&node)))
    return;
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < wanted.size(); ++i)
    for (const Graph::Value* v : node.arguments[i].values)
      if (v != nullptr && (!of_dictionary || wanted[i].is_write())) reshaped_.insert(aliases_.of(v));
}

}  // namespace shunt::compiled
