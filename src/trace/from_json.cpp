#include <shunt/core/by_name.h>
#include <shunt/core/dispatcher.h>
#include <shunt/core/tls.h>

#include "src/dispatch/default_value.h"
#include "src/trace/json.h"
#include "src/trace/stored_schema.h"
#include "src/trace/verify.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace shunt::trace_detail {
namespace {

using nlohmann::json;

constexpr size_t kMostDimensions = 64;

double numberFrom(const json& text) { return std::strtod(text.get_ref<const std::string&>().c_str(), nullptr); }

/// Lists of lists, no deeper than schemas have them.
constexpr int kDeepestList = 3;

IValue literalFrom(const json& j, int depth = 0) {
  SHUNT_CHECK(depth <= kDeepestList, "a list in ", kDeepestList, " lists");
  if (j.is_null()) return {};
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<int64_t>();
  if (j.is_string()) return j.get<std::string>();
  if (j.contains("float")) return numberFrom(j["float"]);
  if (j.contains("device")) return Device(j["device"].get<std::string>());
  if (j.contains("ints")) return j["ints"].get<std::vector<int64_t>>();
  if (j.contains("tensor")) return IValue(Tensor());
  if (j.contains("floats")) {
    std::vector<double> out;
    for (const json& e : j["floats"]) out.push_back(numberFrom(e));
    return out;
  }
  if (j.contains("bools")) {
    std::vector<char> out;
    for (const json& e : j["bools"]) out.push_back(e.get<bool>());
    return out;
  }
  std::vector<IValue> out;
  for (const json& e : j.at("list")) out.push_back(literalFrom(e, depth + 1));
  return out;
}

Graph::Spec specFrom(const json& j) {
  Graph::Spec s;
  s.dtype = dtypeNamed(j.at("dtype").get<std::string>());
  s.device = Device(j.at("device").get<std::string>());
  j.at("sizes").get_to(s.sizes);
  j.at("strides").get_to(s.strides);
  j.at("offset").get_to(s.offset);
  j.at("requires_grad").get_to(s.requires_grad);
  j.at("is_leaf").get_to(s.is_leaf);
  j.at("wrapped_number").get_to(s.wrapped_number);
  SHUNT_CHECK(s.sizes.size() == s.strides.size() && s.sizes.size() <= kMostDimensions && s.offset >= 0,
              "a value with sizes ", IntArrayRef(s.sizes), ", strides ", IntArrayRef(s.strides), " and offset ",
              s.offset);
  for (size_t i = 0; i < s.sizes.size(); ++i)
    SHUNT_CHECK(s.sizes[i] >= 0 && s.strides[i] >= 0, "a value with sizes ", IntArrayRef(s.sizes), " and strides ",
                IntArrayRef(s.strides));
  // Whoever computes with it may take the last element's place in bytes for a number of 64 bits.
  int64_t last = s.offset;
  bool fits = true;
  for (size_t i = 0; i < s.sizes.size() && fits; ++i) {
    int64_t way = 0;
    fits = !__builtin_mul_overflow(std::max<int64_t>(s.sizes[i] - 1, 0), s.strides[i], &way) &&
           !__builtin_add_overflow(last, way, &last) && last < std::numeric_limits<int64_t>::max() / 32;
  }
  SHUNT_CHECK(fits && last < std::numeric_limits<int64_t>::max() / 32, "a value that reaches beyond any memory: sizes ",
              IntArrayRef(s.sizes), ", strides ", IntArrayRef(s.strides), ", offset ", s.offset);
  return s;
}

Graph::Modes modesFrom(const json& j) {
  Graph::Modes m;
  j.at("grad").get_to(m.grad);
  j.at("inference").get_to(m.inference);
  j.at("cast_cache").get_to(m.cast_cache);
  j.at("in_autocast").get_to(m.in_autocast);
  for (const json& e : j.at("excluded")) {
    const auto name = e.get<std::string>();
    const std::vector<DispatchKey> all = kAutogradAndViewKeys.keys();
    const auto found = std::find_if(all.begin(), all.end(), [&](DispatchKey k) { return toString(k) == name; });
    if (found != all.end()) m.excluded |= DispatchKeySet(*found).functionalities().raw();
  }
  for (const json& e : j.at("autocast")) {
    const ScalarType dtype = dtypeNamed(e.at("dtype").get<std::string>());
    SHUNT_CHECK(isReducedFloatingType(dtype), "autocast to ", dtype);
    m.autocast.emplace_back(Device(e.at("device").get<std::string>()).type(), dtype);
  }
  return m;
}

class Reader {
 public:
  explicit Reader(const std::function<Tensor(const Graph::Value&)>& constantOf) : constantOf_(constantOf) {}

  Graph read(const json& text) {
    for (const json& j : text.at("inputs")) add(j, Graph::Value::Kind::kInput, nullptr);
    for (const json& j : text.at("constants")) add(j, Graph::Value::Kind::kConstant, nullptr);
    for (const json& j : text.at("nodes")) addNode(j);
    std::vector<Graph::Value*> outputs;
    for (const json& j : text.at("outputs")) outputs.push_back(valueAt(j));
    graph_.setOutputs(std::move(outputs));
    return std::move(graph_);
  }

 private:
  Graph::Value* add(const json& j, Graph::Value::Kind kind, Graph::Node* node) {
    Graph::Value v{kind, j.at("id").get<int64_t>(), specFrom(j.at("spec")), j.at("storage").get<int64_t>(), node, {}};
    // Ids index a table when the graph runs.
    SHUNT_CHECK(v.id >= 0 && v.id < (int64_t{1} << 24) && !values_.contains(v.id), "a value of id ", v.id,
                values_.contains(v.id) ? ", of which there are two" : "");
    if (kind == Graph::Value::Kind::kConstant) v.constant = constantOf_(v);
    const int64_t id = v.id;
    return values_[id] = graph_.addValue(std::move(v));
  }

  Graph::Value* valueAt(const json& j) const {
    if (j.is_null()) return nullptr;
    const auto found = values_.find(j.get<int64_t>());
    SHUNT_CHECK(found != values_.end(), "value %", j.get<int64_t>(),
                " is used, and no input, constant or earlier node "
                "gives it");
    return found->second;
  }

  Graph::Argument argumentFrom(const json& j) const {
    if (j.is_object() && j.contains("value")) return Graph::Argument(valueAt(j["value"]));
    if (!j.is_object() || !j.contains("values")) return Graph::Argument(literalFrom(j));
    std::vector<Graph::Value*> list;
    for (const json& e : j["values"]) list.push_back(valueAt(e));
    return Graph::Argument(std::move(list));
  }

  /// All that the file has, for checkSchema to count; arguments that the operator got since then have their defaults.
  std::vector<Graph::Argument> argumentsFrom(const json& given, const FunctionSchema& stored,
                                             const FunctionSchema& registered) const {
    std::vector<Graph::Argument> out;
    for (const json& a : given) out.push_back(argumentFrom(a));
    const auto places = argumentsOfStored(stored, registered);
    for (size_t i = 0; i < places.size(); ++i)
      if (!places[i] && i <= out.size())
        out.insert(out.begin() + static_cast<ptrdiff_t>(i), Graph::Argument(defaultValueOf(registered.arguments()[i])));
    return out;
  }

  void addNode(const json& j) {
    const FunctionSchema stored = parseSchema(j.at("schema").get<std::string>());
    const OperatorName& name = stored.operator_name();
    Graph::Node made(Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str()));
    made.arguments = argumentsFrom(j.at("arguments"), stored, made.op.schema());
    made.modes = modesFrom(j.at("modes"));
    Graph::Node* node = graph_.append(std::move(made));
    for (const json& o : j.at("outputs")) {
      Graph::Output out{o.at("is_list").get<bool>(), {}};
      for (const json& v : o.at("values"))
        out.values.push_back(v.is_null() ? nullptr : add(v, Graph::Value::Kind::kResult, node));
      node->outputs.push_back(std::move(out));
    }
    checkSchema(*node, position_++);
  }

  const std::function<Tensor(const Graph::Value&)>& constantOf_;
  Graph graph_;
  std::unordered_map<int64_t, Graph::Value*> values_;
  size_t position_ = 0;
};

}  // namespace

Graph fromJson(const json& text, const std::function<Tensor(const Graph::Value&)>& constantOf) {
  return Reader(constantOf).read(text);
}

}  // namespace shunt::trace_detail
