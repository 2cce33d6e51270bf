// y.grad_fn._saved_self and its like: what nodes of the dictionary's operators keep for backward.
#pragma once

#include "python/src/base/python.h"

#include <shunt/autograd/node.h>

namespace shunt::python {

/// A class of nodes, without its namespace, and the getters of its objects. The table ends with one without a name.
struct SavedAttributes {
  const char* node;
  PyGetSetDef* getters;
};
extern const SavedAttributes saved_attributes[];  // generated

/// The getters for the node's class, which end with one without a name; null for classes that have none.
PyGetSetDef* savedAttributesOf(const Node& node);

}  // namespace shunt::python
