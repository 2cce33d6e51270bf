#include "python/src/autograd/saved_attributes.h"

#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>

namespace shunt::python {

PyGetSetDef* savedAttributesOf(const Node& node) {
  static const auto& tables = *[] {
    auto* map = new std::unordered_map<std::string_view, PyGetSetDef*>();
    for (const SavedAttributes* s = saved_attributes; s->node != nullptr; ++s) map->emplace(s->node, s->getters);
    return map;
  }();
  const std::string name = node.name();
  const auto found = tables.find(name);
  if (found == tables.end()) return nullptr;
  // A program's class may have the name, too. Classes of libshunt are known by their names alone: it exports no type
  // information of the generated ones.
  const std::string generated = "N5shunt8autograd9generated" + std::to_string(name.size()) + name + "E";
  return typeid(node).name() == generated ? found->second : nullptr;
}

}  // namespace shunt::python
