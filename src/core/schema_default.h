// Default values in schema text. What a type takes, and which names stand for ints, are two tables in the .cpp.
#pragma once

#include <shunt/core/argument.h>

#include "src/core/schema_lexer.h"

namespace shunt::detail {

/// Parses what follows the `=` of an argument of this type.
DefaultValue parseDefaultValue(SchemaLexer& lexer, const Type& type);

}  // namespace shunt::detail
