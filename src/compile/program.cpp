#include "src/compile/program.h"

#include "src/autograd/unshared.h"
#include "src/compile/aliases.h"
#include "src/compile/fill_step.h"
#include "src/compile/grad_step.h"
#include "src/compile/loop_builder.h"
#include "src/compile/product_step.h"
#include "src/compile/reduction_step.h"
#include "src/compile/row_stages_builder.h"
#include "src/compile/row_step.h"
#include "src/compile/view_step.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace shunt::compiled {
namespace {

constexpr size_t kNever = std::numeric_limits<size_t>::max();

bool isRegion(const Group& g) { return g.single == nullptr || g.rows != nullptr; }
size_t stepsOf(const Group& g) { return g.region.size() + (g.single != nullptr ? 1 : 0) + g.after.size(); }

/// Builds a program: where values lie, who reads them last, then steps and regions.
class Builder {
 public:
  Builder(const Graph& graph, const Aliases& aliases, const History& history, const std::vector<Group>& groups,
          const ProgramOptions& options)
      : graph_(graph), aliases_(aliases), history_(history), groups_(groups), options_(options) {
    for (const Group& g : groups) {
      const size_t begin = order_.size();
      for (const PointwiseNode* p : g.region) order_.push_back(p->node);
      if (g.single != nullptr) order_.push_back(g.single);
      for (const PointwiseNode* p : g.after) order_.push_back(p->node);
      for (size_t i = begin; i < order_.size() && isRegion(g); ++i) ends_[order_[i]] = order_.size();
    }
    for (const Graph::Node* node : order_) noteReshaped(*node);
    place();
  }

  Program build() {
    for (const Graph::Node* node : order_) out_.steps.push_back(stepOf(*node, out_.steps.size()));
    out_.region_at.assign(out_.steps.size(), -1);
    for (const Graph::Node* node : order_) out_.in_region.push_back(ends_.contains(node));
    size_t position = 0;
    for (const Group& g : groups_) {
      if (g.rows != nullptr)
        addRowRegion(g, position);
      else if (isRegion(g))
        addRegion(g.region, position);
      position += stepsOf(g);
    }
    for (const Graph::Value* v : graph_.outputs()) {
      const auto& all = graph_.outputs();
      const auto mentions = [&](const Graph::Value* o) {
        return o != nullptr && v != nullptr && aliases_.tensorOf(o) == aliases_.tensorOf(v);
      };
      const Source source = v != nullptr ? sources_.at(aliases_.tensorOf(v)) : Source{};
      const bool moved =
          v != nullptr && source.kind == Source::Kind::kSlot && std::ranges::count_if(all, mentions) == 1;
      out_.outputs.push_back({source, v != nullptr, moved});
    }
    out_.is_one_loop = out_.isOneLoop();
    return std::move(out_);
  }

 private:
  void place() {
    const auto given = [&](const std::vector<Graph::Value*>& values, Source::Kind kind) {
      for (size_t i = 0; i < values.size(); ++i) sources_[values[i]] = {kind, static_cast<uint32_t>(i)};
    };
    given(graph_.inputs(), Source::Kind::kInput);
    given(graph_.constants(), Source::Kind::kConstant);
    for (size_t i = 0; i < order_.size(); ++i)
      for (const Graph::Argument& a : order_[i]->arguments)
        for (const Graph::Value* v : a.values)
          if (v != nullptr) last_[aliases_.tensorOf(v)] = i;
    for (const Graph::Value* v : graph_.outputs())
      if (v != nullptr) last_[aliases_.tensorOf(v)] = kNever;
    findProducts();
    // Results of regions that nobody else reads come last: a run by loops leaves them alone.
    const auto placeResults = [&](bool inside_of_regions) {
      for (const Graph::Node* node : order_)
        for (const Graph::Output& o : node->outputs)
          for (const Graph::Value* v : o.values)
            if (v != nullptr && aliases_.tensorOf(v) == v && last_.contains(v) &&
                staysInRegion(*node, v) == inside_of_regions)
              sources_[v] = {Source::Kind::kSlot, static_cast<uint32_t>(out_.slots++)};
    };
    placeResults(false);
    out_.kept_slots = out_.slots;
    placeResults(true);
  }

  // Note [Products without views]. Users come behind what they use, so that from the end each is known in time.
  void findProducts() {
    for (size_t i = 0; i < order_.size(); ++i) {
      position_[order_[i]] = i;
      if (ends_.contains(order_[i]) || autogradPassedBy(*order_[i]).slot < 0) continue;
      if (std::optional<ProductNode> product = productOf(*order_[i])) products_.emplace(order_[i], *product);
    }
    for (size_t i = order_.size(); i-- > 0;)
      if (mayBeLate(*order_[i])) late_.insert(order_[i]);
    for (const auto& [node, product] : products_)
      for (const Graph::Argument& a : node->arguments) {
        if (a.value() == nullptr) continue;
        size_t& last = last_.at(aliases_.tensorOf(behind(a.value())));
        last = std::max(last, position_.at(node));
      }
  }

  bool mayBeLate(const Graph::Node& node) const {
    if (ends_.contains(&node) || !isViewInside(graph_, node) || reshaped_.contains(aliases_.of(node.result())) ||
        autogradPassedBy(node).slot < 0)
      return false;
    const std::vector<Graph::Node*> users = graph_.users(node.result());
    return !users.empty() && std::ranges::all_of(users, [&](const Graph::Node* user) {
      return late_.contains(user) || (products_.contains(user) && readsAsMatrix(*user, node.result()));
    });
  }

  bool readsAsMatrix(const Graph::Node& product, const Graph::Value* v) const {
    for (size_t i = 0; i < product.arguments.size(); ++i)
      if (product.arguments[i].value() == v && !products_.at(&product).isMatrix(i)) return false;
    return true;
  }

  /// The tensor whose memory a late view shows; of others the value itself.
  const Graph::Value* behind(const Graph::Value* v) const {
    while (v->node != nullptr && late_.contains(v->node)) v = v->node->arguments[0].value();
    return v;
  }

  PreparedStep::Place placeOf(const Graph::Value* v) const {
    return {sources_.at(aliases_.tensorOf(v)), isGuarded(v) ? nullptr : &v->spec};
  }

  /// Small operators of which prepared ones are known, where the step stands for one.
  void addPrepared(const Graph::Node& node, Step& step) const {
    const bool is_known = isReduction(node) || isRowOperator(node) || isFill(node);
    if (!is_known || step.passed_by.slot < 0 || step.results[0].slots[0] < 0) return;
    const auto placeOfArgument = [&](size_t i) {
      const Graph::Value* v = node.arguments[i].value();
      return v != nullptr ? placeOf(v) : PreparedStep::Place();
    };
    std::shared_ptr<const PreparedStep> prepared;
    if (isReduction(node)) prepared = reductionOf(node, placeOfArgument(0), node.result()->spec);
    if (isRowOperator(node)) prepared = rowsOf(node, placeOfArgument(0), placeOfArgument(1));
    // What a function of operators calls is compared by the caller alone.
    if (isFill(node) && options_.guarded) prepared = fillOf(node, placeOfArgument(0));
    if (prepared != nullptr) prepare(step, std::move(prepared));
  }

  /// Lets the step before do the view as well, where that makes the tensor behind and nobody else reads this one: no
  /// other step is between the two.
  void joinWithMaker(const Graph::Node& view, const Step& step) {
    if (out_.steps.empty() || howViewed(step) == nullptr || !step.operands[0].last || step.results[0].slots[0] < 0)
      return;
    Step& maker = out_.steps.back();
    const Graph::Value* from = view.arguments[0].value();
    const Graph::Spec& shown = view.result()->spec;
    if (from->node != maker.node || maker.prepared == nullptr || !isReduction(*maker.node) || !isRowMajor(shown) ||
        numelOf(shown) != numelOf(from->spec) || late_.contains(&view))
      return;
    auto prepared = reductionOf(*maker.node, placeOf(maker.node->arguments[0].value()), shown);
    if (prepared == nullptr) return;
    maker.prepared = std::move(prepared);
    maker.view = step.results[0].slots[0];
  }

  void addProduct(const Graph::Node& node, const ProductNode& product, size_t position, Step& step) {
    const auto matrix = [&](size_t i) { return placeOf(behind(node.arguments[product.first_matrix + i].value())); };
    prepare(step,
            std::make_shared<const PreparedProduct>(product, matrix(0), matrix(1), placeOf(node.arguments[0].value())));
    for (const Graph::Argument& a : node.arguments) {
      if (a.value() == nullptr) continue;
      const Graph::Value* v = aliases_.tensorOf(behind(a.value()));
      const Source source = sources_.at(v);
      const bool is_operand = std::ranges::any_of(
          step.operands, [&](const Operand& o) { return o.kind == Operand::Kind::kTensor && o.source == source; });
      if (source.kind == Source::Kind::kSlot && last_.at(v) == position && !is_operand)
        step.dead.push_back(source.index);
    }
  }

  /// Whether the node is of a region whose last node comes after all that read the value.
  bool staysInRegion(const Graph::Node& node, const Graph::Value* v) const {
    const auto end = ends_.find(&node);
    return end != ends_.end() && last_.at(v) < end->second;
  }

  Operand operandOf(const Graph::Value* v) const {
    Operand o;
    o.kind = v != nullptr ? Operand::Kind::kTensor : Operand::Kind::kUndefined;
    if (v != nullptr) o.source = sources_.at(aliases_.tensorOf(v));
    return o;
  }

  Operand operandOf(const Graph::Argument& a, const Argument& wanted) const {
    if (a.kind == Graph::Argument::Kind::kValue) return operandOf(a.values[0]);
    Operand o;
    o.literal = a.literal;
    if (a.kind != Graph::Argument::Kind::kList) return o;
    o.kind = wanted.type.element_optional ? Operand::Kind::kOptionalList : Operand::Kind::kList;
    for (const Graph::Value* v : a.values) o.list.push_back(operandOf(v));
    return o;
  }

  /// Whether the graph reads the tensor after the node. Then a leaf copies a gradient that it is given.
  bool isReadAfter(const Graph::Node& node, const Graph::Value* v) const {
    const auto nodes = graph_.nodes();
    return std::any_of(std::ranges::find(nodes, &node) + 1, nodes.end(), [&](const Graph::Node* later) {
      return std::ranges::any_of(later->arguments, [&](const Graph::Argument& a) {
        return std::ranges::any_of(a.values, [&](const Graph::Value* read) {
          return read != nullptr && aliases_.tensorOf(read) == aliases_.tensorOf(v);
        });
      });
    });
  }

  /// What the step adds to a grad, if it does that.
  static const Operand* gradientOf(const Step& step) {
    return step.node->is("trace::accumulate_grad_") ? &step.operands[1] : nullptr;
  }

  /// The last mention of a slot in the step that reads it last moves the tensor out.
  void markLast(const Graph::Node& node, size_t position, Step& step) const {
    std::vector<uint32_t> seen;
    const auto mark = [&](Operand& o, const Graph::Value* v) {
      if (v == nullptr || o.source.kind != Source::Kind::kSlot || last_.at(aliases_.tensorOf(v)) != position) return;
      if (&o == gradientOf(step) && isReadAfter(node, v)) {
        step.copies_dead = true;
        return;
      }
      o.last = std::ranges::find(seen, o.source.index) == seen.end();
      seen.push_back(o.source.index);
    };
    for (size_t i = node.arguments.size(); i-- > 0;) {
      const std::vector<Graph::Value*>& values = node.arguments[i].values;
      Operand& o = step.operands[i];
      if (o.kind == Operand::Kind::kTensor) mark(o, values[0]);
      for (size_t j = o.list.size(); j-- > 0;) mark(o.list[j], values[j]);
    }
  }

  Step stepOf(const Graph::Node& node, size_t position) {
    Step step(node);
    const auto& wanted = node.op.schema().arguments();
    for (size_t i = 0; i < node.arguments.size(); ++i) step.operands.push_back(operandOf(node.arguments[i], wanted[i]));
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (step.operands[i].kind == Operand::Kind::kLiteral) fitLiteral(node.op, i, step.operands[i].literal);
    if (isOfDictionary(node))
      step.direct = directCallOf(node.op);
    else
      callDirectly(step);
    markLast(node, position, step);
    for (const Graph::Output& o : node.outputs) {
      Step::Result r{o.is_list, {}};
      for (const Graph::Value* v : o.values)
        r.slots.push_back(v != nullptr && sources_.contains(v) ? static_cast<int>(sources_.at(v).index) : -1);
      step.results.push_back(std::move(r));
    }
    if (!isOfDictionary(node)) callQuickly(step);
    passAutogradBy(node, step);
    makeViewDirectly(graph_, step);
    if (late_.contains(&node)) {
      const Graph::Value* from = node.arguments[0].value();
      makeViewLate(step, isGuarded(from) || (from->node != nullptr && late_.contains(from->node)));
    }
    for (const Graph::Argument& a : node.arguments)
      if (a.value() != nullptr && a.value()->node != nullptr && late_.contains(a.value()->node))
        step.late.push_back(static_cast<uint32_t>(position_.at(a.value()->node)));
    if (const auto product = products_.find(&node); product != products_.end() && step.results[0].slots[0] >= 0)
      addProduct(node, product->second, position, step);
    else
      addPrepared(node, step);
    joinWithMaker(node, step);
    return step;
  }

  // A view that leaves the graph keeps what Autograd's wrapper notes about it.
  SeenEntry autogradPassedBy(const Graph::Node& node) const {
    const bool view_leaves =
        node.op.schema().hasAnyAliasInfo() && writtenInPlace(node) == nullptr && history_.leaving.contains(&node);
    return history_.recorded.contains(&node) || view_leaves ? SeenEntry()
                                                            : autogradOf(node, options_.inner_only_record);
  }

  void passAutogradBy(const Graph::Node& node, Step& step) {
    Graph::Modes modes = node.modes;
    step.passed_by = autogradPassedBy(node);
    if (step.passed_by.slot >= 0) modes.excluded |= kAutogradKeys.functionalities().raw();
    const auto known = std::ranges::find_if(out_.modes, [&](const auto& m) { return *m == modes; });
    step.modes =
        known != out_.modes.end() ? known->get() : out_.modes.emplace_back(std::make_unique<Graph::Modes>(modes)).get();
  }

  void addRegion(const std::vector<const PointwiseNode*>& nodes, size_t position);
  void addRowRegion(const Group& group, size_t position);
  Region newRegion(const std::vector<int64_t>& sizes, size_t position, size_t steps) const;
  void addInput(const PointwiseNode::Input& in, int64_t numel, Region& region) const;
  void finish(Region&& region);
  int takenBy(const std::vector<const PointwiseNode*>& nodes, size_t made, const Region& region) const;

  /// Whether a given tensor is what the caller has compared whenever the graph reads it: no node may give it other
  /// sizes or strides, under whatever value of the same memory it has the tensor: a result that is its argument, or an
  /// argument that the function has captured as well.
  bool isGuarded(const Graph::Value* v) const {
    return options_.guarded && v->kind != Graph::Value::Kind::kResult && !reshaped_.contains(aliases_.of(v));
  }

  /// Notes the memory of tensors whose sizes and strides may be others after the node. Of the dictionary's operators
  /// these are such that write and that no region has taken; what trace's operators write is the tensor's grad.
  void noteReshaped(const Graph::Node& node) {
    const bool of_dictionary = isOfDictionary(node);
    if (node.op.op().name().starts_with("trace::") || (of_dictionary && ends_.contains(&node))) return;
    const auto& wanted = node.op.schema().arguments();
    for (size_t i = 0; i < wanted.size(); ++i)
      for (const Graph::Value* v : node.arguments[i].values)
        if (v != nullptr && (!of_dictionary || wanted[i].is_write())) reshaped_.insert(aliases_.of(v));
  }

  const Graph& graph_;
  const Aliases& aliases_;
  const History& history_;
  const std::vector<Group>& groups_;
  const ProgramOptions& options_;
  std::vector<const Graph::Node*> order_;
  std::unordered_map<const Graph::Node*, size_t> ends_;  // by node of a region: the position behind its last one
  std::unordered_set<size_t> reshaped_;                  // groups of aliases_
  std::unordered_map<const Graph::Node*, size_t> position_;
  std::unordered_map<const Graph::Node*, ProductNode> products_;
  std::unordered_set<const Graph::Node*> late_;  // views that products do without
  std::unordered_map<const Graph::Value*, Source> sources_;
  std::unordered_map<const Graph::Value*, size_t> last_;  // the position that reads it last
  Program out_;
};

/// The input whose tensor the result of node `made` may become: of its kind, dead after the region, and read by no node
/// that comes later. -1: none.
int Builder::takenBy(const std::vector<const PointwiseNode*>& nodes, size_t made, const Region& region) const {
  for (const PointwiseNode::Input& in : nodes[made]->inputs) {
    if (in.value == nullptr || in.fit != Fit::kFull || in.sizes != region.sizes || in.dtype != nodes[made]->dtype)
      continue;
    const auto isIt = [&](const Region::Input& i) { return i.source == sources_.at(in.value); };
    const auto at = std::ranges::find_if(region.inputs, isIt);
    if (at == region.inputs.end() || std::ranges::count_if(region.inputs, isIt) != 1) continue;
    const int index = static_cast<int>(at - region.inputs.begin());
    const bool is_last =
        at->source.kind == Source::Kind::kSlot && std::ranges::find(region.last, at->source.index) != region.last.end();
    const bool is_taken =
        std::ranges::find(region.outputs, index, &Region::Output::takes) != region.outputs.end() ||
        std::ranges::find(region.written, static_cast<size_t>(index), &Region::Written::input) != region.written.end();
    const bool read_later =
        std::any_of(nodes.begin() + static_cast<ptrdiff_t>(made) + 1, nodes.end(), [&](auto* later) {
          return std::ranges::find(later->inputs, in.value, &PointwiseNode::Input::value) != later->inputs.end();
        });
    if (is_last && !is_taken && !read_later) return index;
  }
  return -1;
}

void Builder::addRegion(const std::vector<const PointwiseNode*>& nodes, size_t position) {
  Region region = newRegion(nodes[0]->sizes, position, nodes.size());
  LoopBuilder loop(nodes, region.loop);
  const size_t end = position + nodes.size();
  const auto isMade = [&](const Graph::Value* v) {
    return std::ranges::any_of(nodes, [&](const PointwiseNode* p) { return !p->written && p->result == v; });
  };
  const int64_t numel = region.loop.rows * region.loop.columns;
  std::unordered_map<const Graph::Value*, size_t> at;  // of operands that may be written
  const auto add = [&](const PointwiseNode::Input& in) {
    if (in.value == nullptr || isMade(in.value) || loop.hasOperand(in.value, in.fit)) return;
    if (in.fit == Fit::kFull) at[in.value] = region.inputs.size();
    loop.addOperand(in.value, in.fit, detail::signature::dtypeOf(in.signature));
    addInput(in, numel, region);
  };
  for (const PointwiseNode* p : nodes) {
    for (const PointwiseNode::Input& in : p->inputs) add(in);
    if (!p->written) continue;
    add(*p->written);
    if (isMade(p->result)) continue;
    const auto known = std::ranges::find(region.written, at.at(p->result), &Region::Written::input);
    if (known != region.written.end())
      ++known->times;
    else
      region.written.push_back({at.at(p->result), 1});
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PointwiseNode* p = nodes[i];
    const Graph::Value* v = p->result;
    if (p->written || !last_.contains(v) || last_.at(v) < end) continue;
    loop.addOperand(v, Fit::kFull, p->dtype);
    const auto writes = std::ranges::count_if(nodes, [&](const auto* n) { return n->written && n->result == v; });
    region.outputs.push_back({sources_.at(v).index, p->dtype, writes, takenBy(nodes, i, region)});
    region.bytes += elementSize(p->dtype) * numel;
  }
  loop.finish();
  region.native = std::make_unique<const NativeLoop>(region.loop, options_.native_after);
  finish(std::move(region));
}

/// The operator along rows and what is around it: the results of all three that somebody else reads are in memory.
void Builder::addRowRegion(const Group& group, size_t position) {
  const RowNode& rows = *group.rows;
  Region region = newRegion(rows.in.sizes, position, stepsOf(group));
  RowStagesBuilder stages(group, options_.native_after);
  std::vector<std::pair<const Graph::Value*, ScalarType>> made;
  for (const PointwiseNode* p : group.region) made.emplace_back(p->result, p->dtype);
  made.emplace_back(rows.result, detail::signature::dtypeOf(rows.in.signature));
  for (const PointwiseNode* p : group.after) made.emplace_back(p->result, p->dtype);
  const int64_t numel = rows.rows * rows.n;
  const auto add = [&](const PointwiseNode::Input& in) {
    const bool is_made = std::ranges::any_of(made, [&](const auto& m) { return m.first == in.value; });
    if (in.value == nullptr || is_made || stages.hasOperand(in.value, in.fit)) return;
    stages.addOperand(in.value, in.fit, detail::signature::dtypeOf(in.signature));
    addInput(in, numel, region);
  };
  for (const PointwiseNode* p : group.region) std::ranges::for_each(p->inputs, add);
  add(rows.in);
  if (rows.weight) add(*rows.weight);
  if (rows.bias) add(*rows.bias);
  for (const PointwiseNode* p : group.after) std::ranges::for_each(p->inputs, add);
  for (const auto& [v, dtype] : made) {
    if (!last_.contains(v) || last_.at(v) < position + region.steps) continue;
    stages.addOperand(v, Fit::kFull, dtype);
    region.outputs.push_back({.slot = sources_.at(v).index, .dtype = dtype, .times_written = 0});
    region.bytes += elementSize(dtype) * numel;
  }
  region.rows = stages.finish();
  finish(std::move(region));
}

Region Builder::newRegion(const std::vector<int64_t>& sizes, size_t position, size_t steps) const {
  Region region;
  region.first_step = position;
  region.steps = steps;
  region.sizes = sizes;
  region.strides.assign(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) region.strides[d - 1] = region.strides[d] * sizes[d];
  return region;
}

void Builder::addInput(const PointwiseNode::Input& in, int64_t numel, Region& region) const {
  const Source source = sources_.at(in.value);
  region.inputs.push_back({source, in.signature, in.keys, in.sizes, isGuarded(in.value)});
  region.bytes += elementSize(detail::signature::dtypeOf(in.signature)) * (in.fit == Fit::kFull ? numel : 1);
  if (source.kind == Source::Kind::kSlot && last_.at(in.value) < region.first_step + region.steps &&
      std::ranges::find(region.last, source.index) == region.last.end())
    region.last.push_back(source.index);
}

void Builder::finish(Region&& region) {
  region.unchecked = region.written.empty() && std::ranges::all_of(region.inputs, &Region::Input::guarded);
  region.plain = region.written.empty() && region.last.empty() &&
                 std::ranges::all_of(region.outputs, [](const Region::Output& o) { return o.times_written == 0; });
  for (size_t i = 0; i < region.inputs.size(); ++i)
    if (!region.inputs[i].guarded) region.compared.push_back(static_cast<uint16_t>(i));
  const auto full = std::ranges::find(region.inputs, region.sizes, &Region::Input::sizes);
  if (full != region.inputs.end()) region.like = static_cast<int>(full - region.inputs.begin());
  out_.region_at[region.first_step] = static_cast<int>(out_.regions.size());
  out_.regions.push_back(std::move(region));
}

}  // namespace

bool Region::fits(const TensorImpl* const* given) const {
  if (detail::trace_enabled.load(std::memory_order_relaxed)) return false;
  if (unchecked) return true;
  for (const uint16_t i : compared) {
    const Input& in = inputs[i];
    if (given[i] == nullptr || given[i]->signature() != in.signature || keysThatMatter(*given[i]) != in.keys ||
        !given[i]->sizes().equals(in.sizes))
      return false;
  }
  return written.empty() || writtenAreApart(given);
}

// Storages are looked up once: an optimizer's region writes most of its inputs.
bool Region::writtenAreApart(const TensorImpl* const* given) const {
  const StorageImpl* storages[BlockLoop::kMaxPlaces];
  const size_t n = inputs.size();
  for (size_t i = 0; i < n; ++i) storages[i] = given[i]->storage().get();
  for (const Written& w : written) {
    if (given[w.input]->is_inference()) return false;
    const StorageImpl* const mine = storages[w.input];
    size_t holders = 0;
    for (size_t i = 0; i < n; ++i) holders += storages[i] == mine;
    if (holders != 1) return false;
  }
  return true;
}

namespace {
void addToVersion(const TensorImpl& t, int64_t times) {
  for (int64_t i = 0; i < times; ++i) t.version().bump();
}
}  // namespace

/// Whether the tensor is as a new one would be, and nobody else has it or its memory.
bool Region::mayTake(const Tensor& t, const Output& out) const {
  if ((detail::tls_state.mode & detail::kModeInference) != 0) return false;  // a new one has other keys there
  static const DispatchKeySet kNew = detail::makeCpuTensor({1}, {}, kFloat)->key_set();
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  return autograd::isUnshared(t) && impl.key_set() == kNew && autograd::get_autograd_meta(t) == nullptr &&
         impl.version().current() == 0 && impl.storage_offset() == 0 && impl.strides().equals(strides) &&
         impl.storage()->nbytes() == static_cast<size_t>(loop.rows * loop.columns * elementSize(out.dtype)) &&
         !impl.is_wrapped_number();
}

/// Row-major, of the outputs' sizes, which are `shape_of`'s too.
Tensor Region::newOutput(const TensorImpl* shape_of, ScalarType dtype) const {
  if (shape_of == nullptr) return Tensor(detail::makeCpuTensor(sizes, {}, dtype));
  return Tensor(intrusive_ptr<TensorImpl>::reclaim(detail::newCpuTensorLike(*shape_of, dtype)));
}

bool Region::run(Frame& frame) const {
  const TensorImpl* given[BlockLoop::kMaxPlaces];
  size_t n = 0;
  for (const Input& in : inputs) given[n++] = frame.at(in.source).unsafeGetTensorImpl();
  if (!fits(given)) return false;
  std::byte* operands[BlockLoop::kMaxPlaces];
  for (size_t i = 0; i < n; ++i) operands[i] = given[i]->data();
  const TensorImpl* const shape_of = like >= 0 ? given[like] : nullptr;
  for (const Output& out : outputs) {
    Tensor& t = frame.slot(out.slot);
    Tensor* const dead = out.takes >= 0 ? &frame.slot(inputs[static_cast<size_t>(out.takes)].source.index) : nullptr;
    t = dead != nullptr && mayTake(*dead, out) ? std::move(*dead) : newOutput(shape_of, out.dtype);
    operands[n++] = t.unsafeGetTensorImpl()->data();
  }
  runLoop(operands);
  if (plain) return true;
  for (const Written& w : written) addToVersion(*given[w.input], w.times);
  for (const Output& out : outputs) addToVersion(*frame.slot(out.slot).unsafeGetTensorImpl(), out.times_written);
  for (const uint32_t slot : last) frame.slot(slot).reset();
  return true;
}

detail::CompileOutputs Region::runAlone(std::span<const Tensor* const> given, std::span<const Tensor> constants) const {
  std::byte* operands[BlockLoop::kMaxPlaces];
  size_t n = 0;
  const TensorImpl* shape_of = nullptr;
  for (const Input& in : inputs) {
    const bool is_given = in.source.kind == Source::Kind::kInput;
    const TensorImpl& impl = *(is_given ? *given[in.source.index] : constants[in.source.index]).unsafeGetTensorImpl();
    if (static_cast<int>(n) == like) shape_of = &impl;
    operands[n++] = impl.data();
  }
  detail::CompileOutputs out;
  out.reserve(outputs.size());
  for (const Output& o : outputs)
    operands[n++] = out.emplace_back(newOutput(shape_of, o.dtype)).unsafeGetTensorImpl()->data();
  runLoop(operands);
  return out;
}

bool Program::isOneLoop() const {
  if (regions.size() != 1 || regions[0].steps != steps.size() || !regions[0].plain || !regions[0].unchecked)
    return false;
  return std::ranges::equal(outputs, regions[0].outputs, [](const Output& o, const Region::Output& made) {
    return o.moved && o.source.index == made.slot;
  });
}

Program makeProgram(const Graph& graph, const Aliases& aliases, const History& history,
                    const std::vector<Group>& groups, const ProgramOptions& options) {
  return Builder(graph, aliases, history, groups, options).build();
}

detail::CompileOutputs Program::resultsOf(Frame& frame) const {
  detail::CompileOutputs out;
  out.reserve(outputs.size());
  for (const Output& o : outputs) {
    if (o.moved)
      out.emplace_back(std::move(frame.slot(o.source.index)));
    else
      out.emplace_back(o.defined ? frame.at(o.source) : Tensor());
  }
  return out;
}

namespace {
const char* howCalled(const Step& step) {
  if (step.quick != nullptr && step.copies_dead) return ", without dispatch or copy";
  if (step.view >= 0) return ", prepared, with its view";
  if (step.prepared != nullptr) return step.late.empty() ? ", prepared" : ", prepared, without views";
  if (const char* viewed = howViewed(step)) return viewed;
  if (step.kernel.slot >= 0) return ", without dispatch";
  return step.passed_by.slot >= 0 ? "" : ", with autograd";
}
std::string inPlaceOf(const Region& region) {
  const auto n = std::ranges::count_if(region.outputs, [](const Region::Output& o) { return o.takes >= 0; });
  return n == 0 ? "" : detail::str(" (", n, " in an input's memory)");
}

std::string howRun(const Region& r) {
  using detail::str;
  if (r.rows != nullptr) return str(r.rows->buffers, " buffers, ", r.bytes, " bytes; ", r.rows->describe());
  return str(r.loop.buffers, " buffers, blocks of ", r.loop.block, ", ", r.bytes, " bytes; ", r.native->describe());
}
std::string describeRegion(const Region& r) {
  std::ostringstream out;
  out << (r.rows != nullptr ? "rows of " : "region of ") << r.steps << " over " << IntArrayRef(r.sizes) << ": "
      << r.inputs.size() << " inputs, " << r.outputs.size() << " outputs" << inPlaceOf(r) << ", " << howRun(r) << "\n";
  return out.str();
}
}  // namespace

std::string Program::describe() const {
  std::ostringstream out;
  if (is_one_loop) out << "one loop, whose results are the graph's\n";
  for (size_t i = 0; i < steps.size(); ++i) {
    if (region_at[i] < 0) {
      out << "call " << steps[i].node->name() << howCalled(steps[i]) << "\n";
      continue;
    }
    const Region& r = regions[static_cast<size_t>(region_at[i])];
    out << describeRegion(r);
    for (size_t k = 0; k < r.steps; ++k) out << "  " << steps[i + k].node->name() << "\n";
    i += r.steps - 1;
  }
  return out.str();
}

}  // namespace shunt::compiled
