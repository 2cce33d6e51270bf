// The signatures of operators as Python programs see them, for doc strings and stubs. Pure functions of the dictionary.
//
// They follow the spelling of PyTorch: a function's `self` is called `input`, an out= form is an argument `out`
// of the functional one, and a list of ints that is the only positional argument may be written as several arguments.
#pragma once

#include "tools/opgen/model/operator.h"

#include <map>
#include <string>
#include <vector>

namespace opgen {

struct PythonParameter {
  std::string name;
  std::string type;           // Tensor | None
  std::string default_value;  // 1; empty: none
  bool keyword_only = false;
  bool variadic = false;  // *size

  bool operator==(const PythonParameter&) const = default;
};

/// The class of a result with names, such as that of sort.
struct PythonNamedTuple {
  std::string name;
  std::vector<PythonParameter> fields;

  bool operator==(const PythonNamedTuple&) const = default;
};

struct PythonSignature {
  std::vector<PythonParameter> parameters;  // a method's without `self`
  std::string returns;
  std::vector<PythonNamedTuple> named;  // of `returns`, one at most

  bool operator==(const PythonSignature&) const = default;
};

/// Signatures by name and alias, each once, in the dictionary's order. Names that begin with an underscore or end in
/// _backward are for Shunt itself.
using PythonSignatures = std::map<std::string, std::vector<PythonSignature>>;
PythonSignatures pythonFunctions(const Dictionary& dictionary, const std::string& module = "");
PythonSignatures pythonMethods(const Dictionary& dictionary);

/// Whether the name is a keyword of Python.
bool isPythonWord(const std::string& name);
/// `add(input, other, *, alpha=1, out=None) -> Tensor`
std::string pythonCall(const std::string& name, const PythonSignature& signature);
/// `input: Tensor, other: Tensor, *, alpha: Number = 1`
std::string pythonParameters(const PythonSignature& signature);

}  // namespace opgen
