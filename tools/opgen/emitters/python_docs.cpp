// The doc strings of Python's functions and methods: the signatures, then what docs.h has to say.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/python_signature.h"

#include <fmt/format.h>

#include <algorithm>

namespace opgen {

namespace {

/// A literal with a line of source for each line.
std::string literal(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    out += "\n    " + quoted(text.substr(begin, end - begin));
    if (end == std::string::npos) break;
    out.insert(out.size() - 1, "\\n");
    begin = end + 1;
  }
  return out;
}

/// The text for the operator itself: an in-place form has that of the functional one.
std::string textOf(const Docs& docs, const std::string& name) {
  if (const auto it = docs.find(name); it != docs.end()) return "\n\n" + it->second;
  if (!name.ends_with("_")) return "";
  const std::string functional = name.substr(0, name.size() - 1);
  const bool known = docs.contains(functional);
  return known ? "\n\nThe in-place form of " + functional + "(): writes the result to the tensor, and returns it." : "";
}

std::string textOfAlias(const Dictionary& dictionary, const Docs& docs, const std::string& name) {
  for (const PythonAlias& alias : dictionary.aliases)
    if (alias.name == name) return "\n\nAnother name of " + alias.of + "()." + textOf(docs, alias.of);
  return textOf(docs, name);
}

}  // namespace

std::map<std::string, std::string> pythonDocLiterals(const Dictionary& dictionary, const Docs& docs,
                                                     const PythonSignatures& all) {
  std::map<std::string, std::string> literals;
  for (const auto& [name, signatures] : all) {
    std::vector<std::string> lines;
    for (const PythonSignature& s : signatures) {
      std::string line = pythonCall(name, s);  // overloads may differ in types only
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    }
    literals[name] = literal(join(lines, "\n") + textOfAlias(dictionary, docs, name));
  }
  return literals;
}

}  // namespace opgen
