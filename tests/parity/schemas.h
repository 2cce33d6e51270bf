// The operators that both libraries know, and where their schemas disagree. Any thread.
#pragma once

#include <shunt/core/function_schema.h>

#include <string>
#include <vector>

namespace parity {

struct SchemaReport {
  /// In namespace aten, of the same schema in both: what cases are drawn for.
  std::vector<shunt::FunctionSchema> common;
  /// Operators that libtorch does not have.
  std::vector<shunt::FunctionSchema> unknown;
  struct Mismatch {
    shunt::FunctionSchema schema;
    std::string libtorch;
  };
  std::vector<Mismatch> mismatches;
  /// Forms and overloads of Shunt's operators that only libtorch has, by libtorch's schema.
  struct Missing {
    std::string name, overload, schema;
  };
  std::vector<Missing> missing;
};

SchemaReport compareSchemas();

}  // namespace parity
