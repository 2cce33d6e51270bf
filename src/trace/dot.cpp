#include <shunt/trace/dot.h>

#include <shunt/core/error.h>
#include <shunt/tensor/scalar_type.h>

#include <sstream>
#include <unordered_map>

namespace shunt {
namespace {

using Value = Graph::Value;

/// "float32 [2, 3]", "float32 [2, 3] on meta"
std::string labelOf(const Graph::Spec& spec) {
  return detail::str(dtypeName(spec.dtype), ' ', IntArrayRef(spec.sizes),
                     spec.device.is_cpu() ? "" : detail::str(" on ", spec.device));
}

class DotWriter {
 public:
  std::string write(const Graph& graph) {
    out_ << "digraph {\n  node [shape=box];\n";
    for (const Value* v : graph.inputs()) addSource(*v, "input");
    for (const Value* v : graph.constants()) addSource(*v, "constant");
    int64_t n = 0;
    for (const Graph::Node* node : graph.nodes()) addNode(*node, detail::str('n', n++));
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      out_ << "  out" << i << " [shape=ellipse, label=\"output " << i << "\"];\n";
      addEdge(graph.outputs()[i], detail::str("out", i), "");
    }
    out_ << "}\n";
    return out_.str();
  }

 private:
  void addSource(const Value& v, const char* kind) {
    const std::string id = detail::str('v', v.id);
    names_[&v] = id;
    out_ << "  " << id << " [shape=ellipse, label=\"" << kind << " %" << v.id << "\\n" << labelOf(v.spec) << "\"];\n";
  }

  void addNode(const Graph::Node& node, const std::string& id) {
    out_ << "  " << id << " [label=\"" << node.name();
    for (const Graph::Output& output : node.outputs)
      for (const Value* v : output.values)
        if (v != nullptr) {
          out_ << "\\n%" << v->id << ' ' << labelOf(v->spec);
          names_[v] = id;
        }
    out_ << "\"];\n";
    const auto& wanted = node.op.schema().arguments();
    for (size_t i = 0; i < node.arguments.size(); ++i)
      for (const Value* v : node.arguments[i].values) addEdge(v, id, wanted[i].name);
  }

  void addEdge(const Value* from, const std::string& to, const std::string& argument) {
    const auto found = names_.find(from);
    if (found == names_.end()) return;  // an argument that is None
    out_ << "  " << found->second << " -> " << to << " [label=\"" << argument << (argument.empty() ? "%" : " %")
         << from->id << "\"];\n";
  }

  std::ostringstream out_;
  std::unordered_map<const Value*, std::string> names_;  // of the boxes that give values
};

}  // namespace

std::string toDot(const Graph& graph) { return DotWriter().write(graph); }

}  // namespace shunt
