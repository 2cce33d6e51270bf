// Graph::print: one line an input, constant and node.
#include <shunt/trace/graph.h>

#include <shunt/core/tls.h>

namespace shunt {
namespace {

std::string nameOf(const Graph::Value* v) { return v != nullptr ? "%" + std::to_string(v->id) : "None"; }

std::string typeOf(const Graph::Spec& spec) {
  std::string out = detail::str(dtypeName(spec.dtype), IntArrayRef(spec.sizes));
  if (spec.device != Device(kCPU)) out += detail::str(" on ", spec.device);
  return out;
}

std::string typed(const Graph::Value* v) { return v != nullptr ? nameOf(v) + ": " + typeOf(v->spec) : "None"; }

template <class List, class F>
std::string joined(const List& list, F&& text) {
  std::string out;
  for (const auto& e : list) out += (out.empty() ? "" : ", ") + text(e);
  return out;
}

std::string argumentText(const Graph::Argument& a, const Argument& wanted) {
  if (a.kind == Graph::Argument::Kind::kValue) return nameOf(a.values[0]);
  if (a.kind == Graph::Argument::Kind::kList) return "[" + joined(a.values, nameOf) + "]";
  if (wanted.type.kind == TypeKind::ScalarType && a.literal.isInt())
    return dtypeName(static_cast<ScalarType>(a.literal.toInt()));
  return detail::str(a.literal);
}

std::string argumentsText(const Graph::Node& node) {
  const auto& wanted = node.op.schema().arguments();
  std::string out;
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    if (i > 0) out += ", ";
    if (wanted[i].kwarg_only) out += wanted[i].name + "=";
    out += argumentText(node.arguments[i], wanted[i]);
  }
  return out;
}

// What differs from a thread that has nothing on.
std::string modesText(const Graph::Modes& m) {
  std::vector<std::string> words;
  if (m.inference)
    words.emplace_back("inference_mode");
  else if (!m.grad)
    words.emplace_back("no_grad");
  if (m.excluded != 0 && !m.inference) words.push_back("without " + toString(DispatchKeySet::fromRaw(m.excluded)));
  for (const auto& [device, dtype] : m.autocast)
    words.push_back(detail::str("autocast ", device, " ", dtypeName(dtype)));
  return words.empty() ? "" : "  # " + joined(words, [](const std::string& w) { return w; });
}

std::string outputsText(const Graph::Node& node) {
  return joined(node.outputs, [](const Graph::Output& o) {
    return o.is_list ? "[" + joined(o.values, typed) + "]" : typed(o.values.at(0));
  });
}

}  // namespace

std::string Graph::print() const {
  std::string out = "graph(" + joined(inputs_, typed) + "):\n";
  for (const Value* v : constants_)
    out += "  " + typed(v) + " = constant" + (v->spec.requires_grad ? ", requires grad" : "") +
           (v->storage != v->id ? " in the storage of %" + std::to_string(v->storage) : "") + "\n";
  for (const auto& node : nodes_) {
    const std::string left = outputsText(*node);
    out += "  " + left + (left.empty() ? "" : " = ") + node->name() + "(" + argumentsText(*node) + ")" +
           modesText(node->modes) + "\n";
  }
  return out + "  return " + joined(outputs_, nameOf) + "\n";
}

}  // namespace shunt
