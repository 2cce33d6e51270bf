// What holds for every FunctionSchema, however it is built: the constructor and the parser both ask here, the parser
// so that it can show the position. Pure functions.
#pragma once

#include <shunt/core/argument.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::detail {

/// A letter or `_`, then letters, digits and `_`; none of True, False, None.
bool isSchemaIdentifier(std::string_view name);

/// What would have been right instead of `name` as the next name after `previous`; nothing if it is right.
std::optional<std::string> checkArgumentName(const std::vector<Argument>& previous, std::string_view name);

/// PyTorch's rule: once an argument has a default, every later positional one that is not a list needs one too.
std::optional<std::string> checkDefaultOrder(const std::vector<Argument>& previous, const Argument& next);

/// Why an overload can't have this name ("default", "__x"), or nothing.
std::optional<std::string> checkOverloadName(std::string_view overload_name);

}  // namespace shunt::detail
