#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/emitters/view_and_version.h"
#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/saved_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace opgen {

using shunt::Argument;

namespace {

constexpr const char* kHead = R"(// Autograd wrappers, in the order of shunt/autograd/variable_utils.h.
#include "generated/nodes.h"
#include "generated/wrappers.h"
#include "kernels/wrappers/inplace_or_view.h"
#include "kernels/wrappers/record_node.h"

#include <shunt/core/kernel_function.h>

namespace shunt {

)";

constexpr const char* kSpace = "autograd_kernels";

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool hasAutogradKernel(const OperatorDef& op) {
  return std::any_of(op.kernels.begin(), op.kernels.end(),
                     [](const Kernel& k) { return k.key.rfind("Autograd", 0) == 0; });
}

std::string tensorNames(const OperatorDef& op) {
  std::vector<std::string> names;
  for (const Argument& a : op.arguments())
    if (isTensor(a)) names.push_back(a.name);
  return join(names, ", ");
}

std::string belowAutograd(const OperatorDef& op) { return redispatchCall(op, "ks & kAfterAutograd"); }

/// `helpers` are the functions that the body calls.
std::string wrapper(const OperatorDef& op, const std::string& body, const std::string& helpers) {
  return fmt::format("namespace wrappers::{} {{\n{}{} {}({}) {{\n{}}}\n}}\n", kSpace, helpers, returnType(op),
                     op.cpp_name, parameters(op, "DispatchKeySet ks"), body);
}

bool isPartOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool mentions(const std::string& code, const std::string& name) {
  for (size_t at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !isPartOfName(code[at - 1])) && (end == code.size() || !isPartOfName(code[end]))) return true;
  }
  return false;
}

/// The operator's arguments that some code uses, as a function's parameters and as a call's arguments.
struct UsedArguments {
  std::vector<std::string> parameters, names;

  UsedArguments(const OperatorDef& op, const std::string& code) {
    for (const Argument& a : op.arguments())
      if (mentions(code, a.name)) add(argumentType(a), a.name);
  }
  void add(const std::string& type, const std::string& name) {
    parameters.push_back(type + " " + name);
    names.push_back(name);
  }
};

/// out= forms, and in-place forms of operators without gradient: nothing that requires grad may take part.
std::string refusingBody(const OperatorDef& op) {
  const std::string refuse =
      op.form == Form::kOut
          ? fmt::format("  if (autograd::compute_requires_grad({})) autograd::throw_error_out_requires_grad({});\n",
                        tensorNames(op), quoted(op.name()))
          : forEachWritten(op, "  autograd::check_no_requires_grad({0}, \"{0}\", " + quoted(op.name()) + ");\n");
  return refuse + forEachWritten(op, "  checkWritable({});\n") +
         fmt::format("  {{\n    AutoDispatchBelowAutograd guard;\n    {};\n  }}\n", belowAutograd(op)) +
         forEachWritten(op, "  autograd::increment_version({});\n") + returnWritten(op);
}

/// The part of the wrapper of one differentiable operator that depends on its form.
///
/// Note [Recording apart]
/// The node's making, its edges and what it saves are a function of their own, and so is what follows the call where
/// the node saves outputs. Every thunk that records calls them: inlined they were two thirds of its code and of its
/// compile, for what the library's compile does as well.
class RecordingWrapper {
 public:
  explicit RecordingWrapper(const OperatorDef& op) : op_(op), d_(*op.derivative), inplace_(op.form == Form::kInplace) {}

  std::string body() const {
    const std::string inputs = join(d_.inputs, ", ");
    std::string text = checks();
    if (inplace_) {
      text += fmt::format("  const bool requires_grad = autograd::compute_requires_grad({});\n", requiresGradNames());
      text += forEachWritten(op_, "  autograd::check_inplace({}, requires_grad);\n");
    }
    text += fmt::format("  auto node = intrusive_ptr<Node>::reclaim({} ? {}_node({}) : nullptr);\n",
                        inplace_ ? "requires_grad" : fmt::format("autograd::compute_requires_grad({})", inputs),
                        op_.cpp_name, join(UsedArguments(op_, nodeBody()).names, ", "));
    return text + callAndRecord();
  }

  /// Note [Recording apart].
  std::string helpers() const {
    std::string text = fmt::format("SHUNT_NOINLINE Node* {}_node({}) {{\n{}}}\n", op_.cpp_name,
                                   join(UsedArguments(op_, nodeBody()).parameters, ", "), nodeBody());
    if (const std::string body = recordedBody(); !body.empty())
      text += fmt::format("SHUNT_NOINLINE void {}_recorded({}) {{\n{}}}\n", op_.cpp_name,
                          join(afterCall(body).parameters, ", "), body);
    return text;
  }

 private:
  /// Tensors that have no formula must not require grad: their gradient would be lost silently.
  std::string checks() const {
    std::string text;
    for (const Argument& a : op_.arguments()) {
      const bool covered = contains(d_.inputs, a.name) || contains(d_.non_differentiable, a.name) || a.is_write();
      if (isTensor(a) && !a.type.list && !covered)
        text += fmt::format("  autograd::check_no_requires_grad({}, {}, {});\n", a.name, quoted(a.name),
                            quoted(op_.name()));
    }
    return text;
  }

  std::string requiresGradNames() const {
    std::vector<std::string> names = d_.inputs;
    if (!contains(names, "self")) names.insert(names.begin(), "self");
    return join(names, ", ");
  }

  /// Returns the new node, which the caller owns.
  std::string nodeBody() const {
    return fmt::format("  auto node = wrappers::makeNode<autograd::generated::{}>({});\n{}  return node.release();\n",
                       d_.node_name, join(d_.inputs, ", "), saves(false, "node->"));
  }

  /// Of the function that takes the node over; empty where the wrapper does all that there is to do.
  std::string recordedBody() const {
    const std::string saved = saves(true, "recorded.");
    if (saved.empty() && (inplace_ || op_.returns().size() == 1)) return "";
    return "  auto node = intrusive_ptr<Node>::reclaim(owned);\n" +
           (saved.empty()
                ? ""
                : fmt::format("  auto& recorded = static_cast<autograd::generated::{}&>(*node);\n", d_.node_name)) +
           (inplace_ ? rebase() : namedResults() + setHistories()) + saved;
  }

  UsedArguments afterCall(const std::string& body) const {
    UsedArguments used(op_, body);
    if (!inplace_) used.add(fmt::format("const {}&", returnType(op_)), resultVariable());
    used.parameters.push_back("Node* owned");
    used.names.push_back("node.release()");
    return used;
  }

  /// `node` is how its members are reached.
  std::string saves(bool outputs, const char* node) const {
    std::string text;
    const bool lists = std::any_of(d_.inputs.begin(), d_.inputs.end(), [&](const std::string& name) {
      return isTensorList(*op_.schema.findArgument(name));
    });
    if (!outputs)
      for (const std::string& input : d_.inputs)
        if (isTensorList(*op_.schema.findArgument(input)))
          text += fmt::format("  {0}{1}_size_ = {1}.size();\n", node, input);
    for (const SavedValue& s : d_.saved) {
      if (s.is_output != outputs) continue;
      text += fmt::format("  {}{}{}_{};\n", lists ? "" : condition(s), node, s.name, assignment(s));
    }
    return text;
  }

  /// A tensor that only one gradient needs is kept only if that gradient is wanted.
  std::string condition(const SavedValue& s) const {
    if (s.is_output || s.isProperty() || s.argument == nullptr || !isTensor(*s.argument) || s.used_by.size() != 1)
      return "";
    const GradientFormula& f = d_.formulas[s.used_by[0]];
    if (f.inputs.size() != 1) return "";
    const auto at = std::find(d_.inputs.begin(), d_.inputs.end(), f.inputs[0]) - d_.inputs.begin();
    return fmt::format("if (node->next_edge({}).is_valid()) ", at);
  }

  /// What makes the member hold the value: a tensor is saved in place.
  std::string assignment(const SavedValue& s) const {
    constexpr std::string_view kSaved = "SavedVariable(";
    std::string e = savedExpression(s, inplace_);
    if (e.rfind(kSaved, 0) == 0) {
      // A result is the wrapper's until it returns it; what an in-place form has changed is its caller's.
      if (s.is_output && !inplace_) return fmt::format(".saveResult({})", s.expression);
      return ".save(" + e.substr(kSaved.size());
    }
    for (const char* name : {"SavedVariable", "make_saved_variable_list(", "to_args_", "TensorGeometry("})
      if (e.rfind(name, 0) == 0) return " = autograd::" + e;
    return " = " + e;
  }

  std::string callAndRecord() const {
    if (inplace_) {
      return fmt::format("  {{\n    AutoDispatchBelowAutograd guard;\n    {};\n  }}\n", belowAutograd(op_)) +
             forEachWritten(op_, "  autograd::increment_version({});\n") + recorded(rebase()) + returnWritten(op_);
    }
    const std::string call =
        fmt::format("[&] {{\n    AutoDispatchBelowAutograd guard;\n    return {};\n  }}()", belowAutograd(op_));
    std::string text;
    if (op_.isView()) {
      text = fmt::format("  {} result = asView({}, {}, true);\n", returnType(op_), op_.viewBase().name, call);
    } else {
      text = fmt::format("  {} {} = {};\n", returnType(op_), resultVariable(), call);
    }
    return text + recorded(fmt::format("  wrappers::recordOutput({}, node.release());\n", resultVariable())) +
           fmt::format("  return {};\n", resultVariable());
  }

  /// transpose_ and the like change what a view shows and nothing in its base: the new version alone renews its
  /// history.
  std::string rebase() const {
    const bool changes_geometry = contains(op_.tags, "inplace_view");
    return fmt::format("  {}autograd::rebase_history(self, std::move(node));\n",
                       changes_geometry ? "if (!self.is_view()) " : "");
  }

  /// `history`: what is to be done where no function does it.
  std::string recorded(const std::string& history) const {
    const std::string body = recordedBody();
    if (body.empty()) return "  if (node) {\n  " + history + "  }\n";
    return fmt::format("  if (node) {}_recorded({});\n", op_.cpp_name, join(afterCall(body).names, ", "));
  }

  std::string resultVariable() const { return op_.returns().size() == 1 ? resultName(op_, 0) : "results"; }

  std::string namedResults() const {
    if (op_.returns().size() == 1) return "";
    std::vector<std::string> names;
    for (size_t i = 0; i < op_.returns().size(); ++i) names.push_back(resultName(op_, i));
    return fmt::format("  [[maybe_unused]] const auto& [{}] = results;\n", join(names, ", "));
  }

  std::string setHistories() const {
    std::vector<std::string> results;
    for (size_t i = 0; i < op_.returns().size(); ++i)
      if (isTensor(op_.returns()[i]) && d_.output_differentiability[i]) results.push_back(resultName(op_, i));
    // The last history that is set takes the node over; what saves outputs then reaches it through a reference.
    std::string text;
    for (const std::string& r : results)
      text += fmt::format("  autograd::set_history({}, {});\n", r, &r == &results.back() ? "std::move(node)" : "node");
    return text;
  }

  const OperatorDef& op_;
  const Derivative& d_;
  bool inplace_;
};

/// The wrapper's body; empty for a fallthrough. Adds the functions that it calls.
std::string bodyFor(const OperatorDef& op, std::string& helpers) {
  const Derivative* d = op.derivative;
  if (op.form == Form::kOut) return d != nullptr && d->nothingDifferentiable() ? "" : refusingBody(op);
  if (d->nothingDifferentiable()) return op.form == Form::kInplace && d->op != &op ? refusingBody(op) : "";
  const RecordingWrapper recording(op);
  helpers = recording.helpers();
  return recording.body();
}

}  // namespace

void emitAutograd(const Dictionary& dictionary, const Output& out, Registrations& registrations) {
  Shards shards("generated/autograd", kAutogradShards, kHead, "\n}  // namespace shunt\n");
  for (const OperatorDef& op : dictionary.operators) {
    if (op.isCompositeImplicit() || hasAutogradKernel(op) || !op.hasTensorArgument()) continue;
    if (op.derivative == nullptr && op.form != Form::kOut) continue;
    if (op.derivative != nullptr && op.derivative->not_implemented) continue;
    std::string helpers;
    const std::string body = bodyFor(op, helpers);
    if (body.empty()) {
      registrations.push_back({&op, "Autograd", "", true});
      continue;
    }
    registrations.push_back({&op, "Autograd", fmt::format("&wrappers::{}::{}", kSpace, op.cpp_name), true});
    shards.add(op.cpp_name, wrapper(op, body, helpers) + instantiateKernel(registrations.back()));
  }
  shards.write(out);
}

}  // namespace opgen
