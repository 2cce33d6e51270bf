// A call that a person described: an operator, arguments as text, the thread's modes.
#pragma once

#include <shunt/shunt.h>

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/shunt/argument.h"

namespace shunt::cli {

struct CallOptions {
  std::string op;
  std::vector<std::string> arguments;
  std::optional<std::string> autocast;
  bool no_grad = false, inference = false;
};
/// The options op, --arg, --autocast, --no-grad and --inference. `options` lives as long as the command.
void addCallOptions(CLI::App& command, CallOptions& options);

struct CallArguments {
  Stack positional;
  std::map<std::string, IValue> named;
};
/// Throws Mistake if a text can't be read, or if they are in a wrong order.
CallArguments parseArguments(const std::vector<std::string>& texts, Elements elements);

/// The operator that is named; of several overloads the first that takes the arguments, those without out= first.
/// Throws with what is wrong for each where none does.
OperatorHandle pickOperator(const std::string& name, const CallArguments& arguments);

/// The message with which the call would throw, in the thread's modes: it runs on fake tensors, which have no elements.
/// Empty if it wouldn't, or if only elements, or a Meta kernel that is missing, could answer that.
std::string whyCallThrows(const OperatorHandle& op, const CallArguments& arguments);

/// The thread's modes while it lives.
class CallModes {
 public:
  explicit CallModes(const CallOptions& options);

 private:
  AutoGradMode grad_;
  std::optional<InferenceMode> inference_;
  std::optional<AutocastGuard> autocast_;
};

}  // namespace shunt::cli
