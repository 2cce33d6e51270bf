// Emits the stub of the operators for type checkers and editors: functions, and the methods of Tensor as a class that
// the handwritten stub's Tensor derives from.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/python_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace opgen {

namespace {

constexpr const char* kHead =
    R"("""The operators: functions of shunt, and methods of Tensor. Written by opgen; a stub, at run time the module takes them from _C."""

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from shunt._C import Device, Generator, Number, dtype, layout, memory_format
from shunt._tensor import Tensor

)";

std::string indented(const std::string& text, const std::string& indent) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) out += indent + text.substr(begin, end - begin);
    out += '\n';
    begin = end + 1;
  }
  return out;
}

std::string docstring(const Docs& docs, const std::string& name, const std::string& indent) {
  const auto it = docs.find(name);
  if (it == docs.end()) return " ...\n";
  std::string body = indented(it->second, indent);
  body.erase(0, indent.size());
  body.pop_back();
  const std::string end = body.find('\n') == std::string::npos ? "" : "\n" + indent;
  return fmt::format("\n{}\"\"\"{}{}\"\"\"\n", indent, body, end);
}

std::string functionsOf(const PythonSignatures& all, const Docs& docs, bool method) {
  const std::string indent = method ? "    " : "";
  std::string text;
  for (const auto& [name, signatures] : all) {
    if (isPythonWord(name)) continue;
    for (size_t i = 0; i < signatures.size(); ++i) {
      const PythonSignature& s = signatures[i];
      const std::string parameters = pythonParameters(s);
      if (signatures.size() > 1) text += indent + "@overload\n";
      text += fmt::format("{}def {}({}{}) -> {}:", indent, name,
                          !method              ? ""
                          : parameters.empty() ? "self"
                                               : "self, ",
                          parameters, s.returns);
      text += i == 0 ? docstring(docs, name, indent + "    ") : " ...\n";
    }
  }
  return text;
}

/// Each class once: functions and methods share them.
void addNamed(const PythonSignatures& all, std::map<std::string, std::string>& classes) {
  for (const auto& [name, signatures] : all)
    for (const PythonSignature& s : signatures)
      for (const PythonNamedTuple& t : s.named) {
        std::string text = "class " + t.name + "(NamedTuple):\n";
        for (const PythonParameter& f : t.fields) text += "    " + f.name + ": " + f.type + "\n";
        classes[t.name] = text + "\n";
      }
}

}  // namespace

void emitPythonStubs(const Dictionary& dictionary, const Docs& docs, const Output& out) {
  const PythonSignatures functions = pythonFunctions(dictionary), methods = pythonMethods(dictionary);
  std::map<std::string, std::string> classes;
  addNamed(functions, classes);
  addNamed(methods, classes);
  std::string text = kHead;
  for (const auto& [name, body] : classes) text += body;
  text += functionsOf(functions, docs, false);
  text += "\nclass _TensorOperators:\n" + functionsOf(methods, docs, true);
  out.write("python/_operators.pyi", text);
}

}  // namespace opgen
