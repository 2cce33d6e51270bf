// Emits the doc strings of Python's functions and methods: the signatures, then what docs.h has to say.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/python_signature.h"

#include <fmt/format.h>

#include <algorithm>

namespace opgen {

namespace {

constexpr const char* kHead =
    R"(// Doc strings by name. Who includes this defines SHUNT_FUNCTION_DOC(name, text) and SHUNT_METHOD_DOC(name, text); both are
// undefined at the end.
)";

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

std::string docsOf(const char* macro, const PythonSignatures& all, const Docs& docs) {
  std::string text;
  for (const auto& [name, signatures] : all) {
    std::vector<std::string> lines;
    for (const PythonSignature& s : signatures) {
      std::string line = pythonCall(name, s);  // overloads may differ in types only
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    }
    text += fmt::format("{}({},{})\n", macro, name, literal(join(lines, "\n") + textOf(docs, name)));
  }
  return text;
}

}  // namespace

void emitPythonDocs(const Dictionary& dictionary, const Docs& docs, const Output& out) {
  out.write("generated/python_docs.inc", std::string(kBanner) + kHead +
                                             docsOf("SHUNT_FUNCTION_DOC", pythonFunctions(dictionary), docs) +
                                             docsOf("SHUNT_METHOD_DOC", pythonMethods(dictionary), docs) +
                                             "#undef SHUNT_FUNCTION_DOC\n#undef SHUNT_METHOD_DOC\n");
}

}  // namespace opgen
