#include "tools/shunt/call.h"

#include <shunt/core/by_name.h>
#include <shunt/core/complete_arguments.h>

#include <algorithm>

#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

const std::vector<std::string> kAutocastNames{"bfloat16", "float16"};

bool writesOut(const OperatorHandle& op) {
  return std::ranges::any_of(op.schema().arguments(), [](const Argument& a) { return a.kwarg_only && a.is_write(); });
}

constexpr const char* kWho = "call";

/// "argument 'other' of aten::add.Tensor is missing and has no default": what completeArguments() says, for the schema
/// that stands above it.
std::string withoutSchema(std::string message) {
  if (const std::string who = std::string(kWho) + ": "; message.starts_with(who)) message.erase(0, who.size());
  for (const char* end : {"; the schema is ", "; its schema is "})
    if (const size_t at = message.find(end); at != std::string::npos) message.erase(at);
  return message;
}

}  // namespace

void addCallOptions(CLI::App& command, CallOptions& options) {
  command.add_option("op", options.op, "add.Tensor, aten::add.Tensor; add: the overload that takes the arguments")
      ->required();
  command
      .add_option("-a,--arg", options.arguments,
                  "float32[2,3], float32[4,4]:grad,strided, 2.5, alpha=2, [1,2]; in the schema's order")
      ->type_name("ARGUMENT")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--autocast", options.autocast, "In autocast to this dtype: bfloat16 or float16")
      ->type_name("DTYPE")
      ->check(oneOf(kAutocastNames));
  command.add_flag("--no-grad", options.no_grad, "With grad mode off");
  command.add_flag("--inference", options.inference, "In inference mode");
}

CallArguments parseArguments(const std::vector<std::string>& texts, Elements elements) {
  CallArguments out;
  for (const std::string& text : texts) {
    auto [name, value] = parseNamed(text, elements);
    if (!name.empty() && out.named.contains(name)) throw Mistake("argument '" + name + "' is given twice");
    if (name.empty() && !out.named.empty())
      throw Mistake("argument '" + text + "': arguments without a name come first");
    if (name.empty())
      out.positional.push_back(std::move(value));
    else
      out.named.emplace(name, std::move(value));
  }
  return out;
}

OperatorHandle pickOperator(const std::string& name, const CallArguments& arguments) {
  const std::vector<OperatorHandle> overloads = findOperators(name);
  if (overloads.size() == 1) return overloads[0];
  std::string problems;
  for (const bool with_out : {false, true})
    for (const OperatorHandle& op : overloads) {
      if (writesOut(op) != with_out) continue;
      try {
        completeArguments(op, arguments.positional, arguments.named, kWho);
        return op;
      } catch (const Error& e) {
        problems += detail::str("\n  ", op.schema(), "\n    ", withoutSchema(e.what()));
      }
    }
  throw Error(detail::str("no overload of ", withNamespace(name), " takes these arguments:", problems));
}

CallModes::CallModes(const CallOptions& options) : grad_(!options.no_grad) {
  if (options.inference) inference_.emplace();
  if (options.autocast) autocast_.emplace(kCPU, dtypeNamed(*options.autocast));
}

}  // namespace shunt::cli
