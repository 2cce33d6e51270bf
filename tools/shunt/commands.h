// The subcommands of bin/shunt. Each prints to stdout and throws shunt::Error on what it can't do.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/jit/jit.h>

#include <optional>
#include <string>
#include <vector>

namespace shunt::cli {

/// The operator of that name, which may lack its namespace if that is aten.
OperatorHandle findOperator(const std::string& name);
jit::Stats readReport(const std::string& file);

void printStats(const std::string& file, bool json);
/// Operators whose name contains the filter.
void printOperators(const std::string& filter, bool schemas);
/// Registrations, and the table that follows from them.
void printTables(const std::string& name);
void printFallbacks();

/// The disk cache of thunks: in the named directory, else in the environment's, else in the default one.
void listCache(const std::string& directory, bool json);
/// Whether no file is damaged; names those that are.
bool verifyCache(const std::string& directory);
void clearCache(const std::string& directory);

struct InfoOptions {
  bool json = false;
  bool environment = false;  // the page docs/environment.md instead
};
void printInfo(const InfoOptions& options);

struct ExplainOptions {
  std::string op;
  std::vector<std::string> arguments;
  std::string report;  // of a program that runs or ran: explains its pairs of the operator
  std::optional<std::string> autocast;
  bool no_grad = false, inference = false, json = false;
};
void printExplanation(const ExplainOptions& options);

}  // namespace shunt::cli
