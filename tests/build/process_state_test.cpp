// Every variable that libshunt may write, found in the library itself, is either where a setting of the table in
// src/core/settings.h lives or stands in process_state.txt with the reason why it decides no call's result. So a new
// setting is declared in the table, which says how thunks stay right when it changes, and is tested from it
// (tests/diff/settings_test.cpp).
#include "src/core/settings.h"
#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <cxxabi.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace shunt {
namespace {

std::string demangled(std::string name) {
  if (const size_t part = name.rfind('.'); name.starts_with("_Z") && part != name.npos)
    name.resize(part);  // of a variable in parts
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (status == 0) name = text;
  std::free(text);
  return name;
}

/// Without unnamed namespaces, parameters, template arguments and ABI tags.
std::string plain(const std::string& name) {
  std::string out;
  int depth = 0;
  for (char c : name) {
    depth -= c == ')' || c == '>' || c == ']';
    if (depth == 0 && c != ')' && c != '>' && c != ']' && c != '(' && c != '<' && c != '[') out += c;
    depth += c == '(' || c == '<' || c == '[';
  }
  for (const char* left : {" const", "std::", " "})
    for (size_t at; (at = out.find(left)) != out.npos;) out.erase(at, std::string(left).size());
  for (size_t at; (at = out.find("::::")) != out.npos;) out.erase(at, 2);
  const size_t begin = out.find("shunt::");
  return begin == out.npos ? out : out.substr(begin);
}

/// The library's own variables in sections that can be written; not the loader's, nor what is constant once it is
/// loaded.
std::set<std::string> variables() {
  const auto run = test::runCommand("readelf -SW " SHUNT_LIBRARY_FILE " && readelf -sW " SHUNT_LIBRARY_FILE " 2>&1");
  EXPECT_EQ(run.status, 0) << run.text;
  std::set<std::string> sections, out;
  std::istringstream lines(run.text);
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find(']'); at != line.npos) {
      std::istringstream fields(line.substr(at + 1));
      std::string name;
      fields >> name;
      if (name == ".data" || name == ".bss" || name == ".tdata" || name == ".tbss") {
        std::istringstream number(line.substr(line.find('[') + 1, at));
        std::string n;
        number >> n;
        sections.insert(n.substr(0, n.find(']')));
      }
    }
    std::istringstream fields(line);
    std::string number, value, size, type, bind, visibility, section, name;
    fields >> number >> value >> size >> type >> bind >> visibility >> section >> name;
    if ((type != "OBJECT" && type != "TLS") || !sections.contains(section)) continue;
    const std::string full = demangled(name);
    // Other libraries' and the compiler's; operators, which are what registrations change; registrations.
    if (full.find("shunt::") == full.npos || full.starts_with("guard variable") || full.starts_with("std::") ||
        (full.starts_with("shunt::ops::") && full.ends_with("::symbol")) || full.find("shunt_library_") != full.npos)
      continue;
    out.insert(plain(full));
  }
  return out;
}

/// Names in the list, with the reason.
std::map<std::string, std::string> listed() {
  std::map<std::string, std::string> out;
  std::ifstream file(SHUNT_PROCESS_STATE);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const size_t at = line.find(": ");
    EXPECT_NE(at, line.npos) << "no reason: " << line;
    EXPECT_TRUE(out.emplace(line.substr(0, at), line.substr(at + 2)).second) << "twice: " << line;
  }
  return out;
}

bool holds(const SettingInfo& setting, const std::string& variable) {
  return variable.ends_with("::" + std::string(setting.holder));
}

TEST(ProcessState, WhatResultsDependOnIsInTheTableOfSettings) {
  const auto known = listed();
  const auto all = variables();
  ASSERT_GT(all.size(), 50u);
  for (const std::string& variable : all) {
    const bool setting = std::any_of(std::begin(kSettings), std::end(kSettings),
                                     [&](const SettingInfo& s) { return holds(s, variable); });
    EXPECT_TRUE(setting || known.contains(variable))
        << variable << " can change: if a call's result depends on it, it is a setting and belongs in the table of "
        << "src/core/settings.h; if not, in tests/build/process_state.txt with the reason";
    EXPECT_FALSE(setting && known.contains(variable))
        << variable << " is a setting, and in the list of those that are none";
  }
  for (const SettingInfo& s : kSettings)
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& v) { return holds(s, v); }))
        << "nothing holds the setting " << s.name << ": there is no variable " << s.holder;
}

// Else a line that is left over would excuse the next variable of its name.
TEST(ProcessState, WhatIsListedIsThere) {
  const auto all = variables();
  for (const auto& [name, reason] : listed()) EXPECT_TRUE(all.contains(name)) << name;
}

TEST(ProcessState, NamesAreReadFromSymbols) {
  EXPECT_EQ(plain("shunt::(anonymous namespace)::linksFrom(shunt::Tensor const&, std::pair<int, long>)::detach"),
            "shunt::linksFrom::detach");
  EXPECT_EQ(plain("shunt::CppSignature::of<shunt::Tensor (long)>()::signature"), "shunt::CppSignature::of::signature");
  EXPECT_EQ(plain("shunt::Tensor::grad() const::kNone"), "shunt::Tensor::grad::kNone");
  EXPECT_EQ(plain(demangled("_ZN5shunt3jit12_GLOBAL__N_115enabled_by_callE.0")), "shunt::jit::enabled_by_call");
}

}  // namespace
}  // namespace shunt
