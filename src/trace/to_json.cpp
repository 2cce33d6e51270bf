// A Graph as JSON: what save() and toJson() write.
#include "src/trace/json.h"

#include <shunt/core/tls.h>

#include <fmt/format.h>

namespace shunt {
namespace {

using nlohmann::json;

// With all its bits: JSON has neither NaN nor infinities.
std::string hexOf(double d) { return fmt::format("{:a}", d); }

template <class List, class F>
json listOf(const List& list, F&& text) {
  json out = json::array();
  for (const auto& e : list) out.push_back(text(e));
  return out;
}

// JSON's text is UTF-8.
json stringOf(const std::string& s, const Graph::Node& node, const std::string& argument) {
  json out = s;
  try {
    std::ignore = out.dump();
  } catch (const json::type_error&) {
    throw Error(detail::str("Graph::save: node ", node.name(), ": argument '", argument,
                            "' is a string that isn't UTF-8, which no file can hold"));
  }
  return out;
}

json literalOf(const IValue& v, const Graph::Node& node, const std::string& argument) {
  using Tag = IValue::Tag;
  const auto nested = [&](const IValue& e) { return literalOf(e, node, argument); };
  switch (v.tag()) {
    case Tag::None:
      return nullptr;
    case Tag::Int:
      return v.toInt();
    case Tag::Bool:
      return v.toBool();
    case Tag::Double:
      return {{"float", hexOf(v.toDouble())}};
    case Tag::String:
      return stringOf(v.toStringRef(), node, argument);
    case Tag::Device:
      return {{"device", v.toDevice().str()}};
    case Tag::IntList:
      return {{"ints", v.toIntVector()}};
    case Tag::DoubleList:
      return {{"floats", listOf(v.toDoubleVector(), hexOf)}};
    case Tag::BoolList:
      return {{"bools", listOf(v.toBoolVector(), [](char b) { return b != 0; })}};
    case Tag::GenericList:
      return {{"list", listOf(v.toGenericVector(), nested)}};
    case Tag::Tensor:
      if (!v.toTensor().defined()) return {{"tensor", nullptr}};
      break;
    default:
      break;
  }
  throw Error(detail::str("Graph::save: node ", node.name(), ": argument '", argument, "' is a ", v.tagName(),
                          ", which no file can hold", v.isGenerator() ? "; draw from the default generator" : ""));
}

json idOf(const Graph::Value* v) { return v != nullptr ? json(v->id) : json(); }

json argumentOf(const Graph::Node& node, size_t i) {
  const Graph::Argument& a = node.arguments[i];
  if (a.kind == Graph::Argument::Kind::kValue) return {{"value", idOf(a.values[0])}};
  if (a.kind == Graph::Argument::Kind::kList) return {{"values", listOf(a.values, idOf)}};
  return literalOf(a.literal, node, node.op.schema().arguments()[i].name);
}

json modesOf(const Graph::Modes& m) {
  return {{"grad", m.grad},
          {"inference", m.inference},
          {"cast_cache", m.cast_cache},
          {"in_autocast", m.in_autocast},
          {"excluded", listOf(DispatchKeySet::fromRaw(m.excluded).functionalities().keys(),
                              [](DispatchKey k) { return toString(k); })},
          {"autocast", listOf(m.autocast, [](const auto& cast) {
             return json{{"device", deviceTypeName(cast.first)}, {"dtype", dtypeName(cast.second)}};
           })}};
}

json specOf(const Graph::Spec& s) {
  return {{"dtype", dtypeName(s.dtype)},
          {"device", s.device.str()},
          {"sizes", s.sizes},
          {"strides", s.strides},
          {"offset", s.offset},
          {"requires_grad", s.requires_grad},
          {"is_leaf", s.is_leaf},
          {"wrapped_number", s.wrapped_number}};
}

json valueOf(const Graph::Value& v) { return {{"id", v.id}, {"spec", specOf(v.spec)}, {"storage", v.storage}}; }

json nodeOf(const Graph::Node& node) {
  json arguments = json::array();
  for (size_t i = 0; i < node.arguments.size(); ++i) arguments.push_back(argumentOf(node, i));
  const auto outputOf = [](const Graph::Output& o) {
    const auto result = [](const Graph::Value* v) { return v != nullptr ? valueOf(*v) : json(); };
    return json{{"is_list", o.is_list}, {"values", listOf(o.values, result)}};
  };
  return {{"schema", node.op.schema().str()},
          {"arguments", std::move(arguments)},
          {"outputs", listOf(node.outputs, outputOf)},
          {"modes", modesOf(node.modes)}};
}

}  // namespace

nlohmann::json trace_detail::toJson(const Graph& graph) {
  const auto value = [](const Graph::Value* v) { return valueOf(*v); };
  return {{"format", "shunt graph"},
          {"version", kGraphVersion},
          {"inputs", listOf(graph.inputs(), value)},
          {"constants", listOf(graph.constants(), value)},
          {"nodes", listOf(graph.nodes(), [](const Graph::Node* n) { return nodeOf(*n); })},
          {"outputs", listOf(graph.outputs(), idOf)}};
}

std::string Graph::toJson() const { return trace_detail::toJson(*this).dump(2); }

}  // namespace shunt
