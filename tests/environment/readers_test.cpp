// Every variable of the table is read by the library that the table names, and nothing reads one that is not there.
#include <shunt/core/environment.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace shunt::detail::environment {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

const fs::path kSource = SHUNT_SOURCE_DIR;

std::string contentOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Texts of the files below the folders, by path from the root.
std::map<std::string, std::string> filesBelow(const std::vector<std::string>& folders) {
  std::map<std::string, std::string> out;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(kSource / folder))
      if (entry.is_regular_file()) out[fs::relative(entry.path(), kSource).string()] = contentOf(entry.path());
  return out;
}

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// What follows each occurrence of the prefix, as long as the characters are of the kind.
template <class Kind>
std::set<std::string> after(const std::string& text, const std::string& prefix, const Kind& is_of_kind) {
  std::set<std::string> out;
  for (size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
    const auto begin = text.begin() + static_cast<ptrdiff_t>(at + prefix.size());
    out.emplace(begin, std::find_if_not(begin, text.end(), is_of_kind));
  }
  return out;
}

/// "kJit", ...: of the enumeration, in its order.
std::vector<std::string> enumerators() {
  const std::string text = contentOf(kSource / "include/shunt/core/environment.h");
  const size_t begin = text.find("enum class Variable"), end = text.find("};", begin);
  std::istringstream lines(text.substr(begin, end - begin));
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  k")) out.push_back(line.substr(2, line.find(',') - 2));
  return out;
}

std::string readerOf(const std::string& file) {
  if (file.starts_with("src/") || file.starts_with("kernels/")) return kLibrary;
  if (file.starts_with("jit/")) return kCompiler;
  return file.starts_with("python/torch/") ? kTorchPackage : "Python's shunt";
}

TEST(Readers, AreThoseThatTheTableNames) {
  const std::vector<std::string> names = enumerators();
  ASSERT_EQ(names.size(), kNumVariables);
  std::map<std::string, std::set<std::string>> readers;
  for (const auto& [file, text] : filesBelow({"src", "kernels", "jit", "python"}))
    for (const std::string& name : after(text, "Variable::", isWord)) readers[name].insert(readerOf(file));
  for (size_t i = 0; i < names.size(); ++i) {
    std::set<std::string> listed;
    std::istringstream text(kTable[i].reader);
    for (std::string reader; std::getline(text >> std::ws, reader, ',');) listed.insert(reader);
    EXPECT_EQ(readers[names[i]], listed) << names[i];
  }
}

/// Reads of the process's environment that don't ask the table, as "file: argument".
std::vector<std::string> otherReads(const std::map<std::string, std::string>& files) {
  std::vector<std::string> out;
  for (const auto& [file, text] : files) {
    for (const std::string& argument : after(text, "getenv(", [](char c) { return c != ')'; }))
      out.push_back(file + ": " + argument);
    if (!file.ends_with(".py")) continue;
    for (const std::string& line : after(text, "environ", [](char c) { return c != '\n'; }))
      if (line.find("SHUNT_") != line.npos) out.push_back(file + ": environ" + line);
  }
  return out;
}

TEST(Readers, AskTheTable) {
  EXPECT_THAT(otherReads(filesBelow({"include", "src", "kernels", "jit", "python"})),
              ElementsAre("kernels/linalg/blas.cpp: kVariable", "src/base/environment.cpp: rowOf(variable",
                          "src/base/source_places.cpp: \"PATH\"", "src/tiering/cache.cpp: \"HOME\"",
                          "src/tiering/cache.cpp: \"XDG_CACHE_HOME\""));
  EXPECT_THAT(otherReads({{"a.cpp", "x = std::getenv(\"SHUNT_JIT\");"}, {"b.py", "os.environ.get(\"SHUNT_JIT\")"}}),
              ElementsAre("a.cpp: \"SHUNT_JIT\"", "b.py: environ.get(\"SHUNT_JIT\")"));
}

std::set<std::string> known() {
  std::set<std::string> names;
  for (const Row& row : kTable) names.insert(row.name);
  for (const ScriptRow& row : kScriptTable) names.insert(row.name);
  return names;
}

/// Names that a test, a benchmark or a script reads.
std::set<std::string> readByScripts(const std::string& file, const std::string& text) {
  std::vector<std::string> reads;
  if (file.ends_with(".cpp") || file.ends_with(".h"))
    reads = {"getenv(\"", "fromEnvironment(\""};
  else if (file.ends_with(".py"))
    reads = {"environ.get(\"", "environ[\"", "if \"", "and \""};  // the last two: "SHUNT_X" in os.environ
  else if (file.ends_with(".sh") || text.starts_with("#!"))
    reads = {"$", "${"};
  std::set<std::string> out;
  for (const std::string& read : reads)
    for (const std::string& name : after(text, read, isWord))
      if (name.starts_with("SHUNT_")) out.insert(name);
  return out;
}

TEST(ScriptVariables, AreFoundInEveryLanguage) {
  EXPECT_THAT(readByScripts("a.cpp", "getenv(\"SHUNT_A\"); getenv(\"HOME\"); SHUNT_B"), ElementsAre("SHUNT_A"));
  EXPECT_THAT(
      readByScripts("a.py", "os.environ.get(\"SHUNT_A\"), os.environ[\"SHUNT_B\"]; if \"SHUNT_C\" in os.environ"),
      ElementsAre("SHUNT_A", "SHUNT_B", "SHUNT_C"));
  EXPECT_THAT(readByScripts("a", "#!/bin/sh\n$SHUNT_A ${SHUNT_B:-1} SHUNT_C=1"), ElementsAre("SHUNT_A", "SHUNT_B"));
  EXPECT_THAT(readByScripts("CMakeLists.txt", "${SHUNT_A}"), IsEmpty());
}

TEST(ScriptVariables, AreReadByTestsBenchmarksOrScripts) {
  std::map<std::string, std::set<std::string>> readers;
  for (const auto& [file, text] : filesBelow({"tests", "bench", "tools"})) {
    if (file.starts_with("tests/environment/")) continue;
    for (const std::string& name : readByScripts(file, text)) {
      EXPECT_TRUE(known().contains(name)) << file << " reads " << name << ", which no table has";
      readers[name].insert(file);
    }
  }
  for (const ScriptRow& row : kScriptTable) EXPECT_THAT(readers[row.name], testing::Not(IsEmpty())) << row.name;
}

}  // namespace
}  // namespace shunt::detail::environment
