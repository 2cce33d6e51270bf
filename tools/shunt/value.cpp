#include "tools/shunt/value.h"

#include <shunt/core/error.h>
#include <shunt/core/near_names.h>

#include <charconv>
#include <filesystem>
#include <sstream>

namespace shunt::cli {
namespace {

namespace environment = detail::environment;
namespace fs = std::filesystem;

constexpr size_t kMostShown = 100;  // bytes of a value

template <class Check>
CLI::Validator validator(Check check) {
  return CLI::Validator([check](std::string& given) { return check(given); }, "");
}

/// "a, b or c"
std::string alternatives(const std::vector<std::string>& words) {
  std::string text = words.front();
  for (size_t i = 1; i < words.size(); ++i) text += (i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}

}  // namespace

std::string shownValue(const std::string& text) {
  return "'" + (text.size() <= kMostShown ? text : text.substr(0, kMostShown) + "...") + "'";
}

std::string notExpected(const std::string& expected, const std::string& given, const std::vector<std::string>& words) {
  return "expected " + expected + ", got " + shownValue(given) + detail::didYouMean(given, words);
}

CLI::Validator oneOf(const std::vector<std::string>& words) {
  return validator([words](const std::string& given) -> std::string {
    for (const std::string& word : words)
      if (given == word) return "";
    return notExpected(alternatives(words), given, words);
  });
}

CLI::Validator wholeNumber(int64_t least, int64_t most) {
  return validator([least, most](const std::string& given) -> std::string {
    int64_t n = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), n);
    if (error == std::errc() && end == given.data() + given.size() && least <= n && n <= most) return "";
    return notExpected(detail::str("a whole number from ", least, " to ", most), given);
  });
}

CLI::Validator valueOf(environment::Variable variable) {
  return validator([variable](const std::string& given) -> std::string {
    const environment::Row& row = environment::rowOf(variable);
    if (environment::parse(row, given)) return "";
    std::istringstream words(row.words);
    return notExpected(environment::expected(row), given, {std::istream_iterator<std::string>(words), {}});
  });
}

CLI::Validator fileToWrite() {
  return validator([](const std::string& given) -> std::string {
    constexpr const char* kExpected = "a file name";
    if (given.empty()) return notExpected(kExpected, given);
    std::error_code ignored;
    if (fs::is_directory(given, ignored)) return notExpected(kExpected, given) + ", a directory";
    const fs::path folder = fs::path(given).parent_path();
    if (folder.empty() || fs::is_directory(folder, ignored)) return "";
    return notExpected(kExpected, given) + ", and there is no directory " + shownValue(folder.string());
  });
}

CLI::Validator cacheDirectory() {
  return validator([](const std::string& given) -> std::string {
    constexpr const char* kExpected = "on, off or a directory";
    std::error_code ignored;
    if (given.empty()) return notExpected(kExpected, given);
    const auto value = environment::parse(environment::rowOf(environment::Variable::kJitCache), given);
    const bool is_word = value && value->form != environment::Value::Form::kPath;
    if (!is_word && fs::exists(given, ignored) && !fs::is_directory(given, ignored))
      return notExpected(kExpected, given) + ", a file";
    return "";
  });
}

CLI::Validator notEmpty(const std::string& expected) {
  return validator([expected](const std::string& given) -> std::string {
    return given.empty() ? notExpected(expected, given) : "";
  });
}

}  // namespace shunt::cli
