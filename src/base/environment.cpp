#include <shunt/core/environment.h>

#include <shunt/core/log.h>
#include <shunt/core/near_names.h>

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

namespace shunt::detail::environment {
namespace {

constexpr std::string_view kPrefix = "SHUNT_";
constexpr std::array<const char*, 4> kOnWords{"1", "on", "true", "yes"}, kOffWords{"0", "off", "false", "no"};

bool isSame(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::vector<std::string> wordsOf(const Row& row) {
  std::istringstream words(row.words);
  return {std::istream_iterator<std::string>(words), {}};
}

std::optional<bool> flagOf(std::string_view text) {
  for (const char* word : kOnWords)
    if (isSame(text, word)) return true;
  for (const char* word : kOffWords)
    if (isSame(text, word)) return false;
  return std::nullopt;
}

std::optional<int64_t> numberOf(const Row& row, std::string_view text) {
  int64_t n = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || stop != text.data() + text.size() || n < row.least || n > row.most) return std::nullopt;
  return n;
}

bool isPath(const Row& row, std::string_view text) {
  return !text.empty() && (row.path == Path::kAbsolute ? text.front() == '/' : row.path != Path::kNone);
}

/// All words that the row allows, for near ones.
std::vector<std::string> allWordsOf(const Row& row) {
  std::vector<std::string> words = wordsOf(row);
  if (row.is_flag)
    for (const auto* all : {&kOnWords, &kOffWords}) words.insert(words.end(), all->begin(), all->end());
  return words;
}

std::string complaintAbout(const Row& row, const std::string& text, const std::string& otherwise) {
  const std::string holds = !otherwise.empty() ? otherwise : *row.fallback != 0 ? row.fallback : row.instead;
  return std::string(row.name) + "=" + text + ": expected " + expected(row) + "; using " + holds +
         didYouMean(text, allWordsOf(row));
}

/// Relaxed: a number on its own.
constinit std::atomic<uint64_t> complained{0};
static_assert(kNumVariables <= 64, "one bit for each variable");

void logOnce(Variable variable, const std::string& complaint) {
  const uint64_t bit = uint64_t{1} << static_cast<unsigned>(variable);
  if ((complained.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) logWarning(complaint);
}

std::vector<std::string> allNames() {
  std::vector<std::string> names;
  for (const Row& row : kTable) names.emplace_back(row.name);
  for (const ScriptRow& row : kScriptTable) names.emplace_back(row.name);
  return names;
}

// A misspelt variable changes nothing, which nobody would notice otherwise.
[[maybe_unused]] const bool checked_at_load = [] {
  if (getauxval(AT_SECURE) != 0) return false;
  for (const std::string& complaint : complaintsAboutNames(environ)) logWarning(complaint);
  return true;
}();

}  // namespace

std::optional<Value> parse(const Row& row, std::string_view text) {
  using Form = Value::Form;
  if (row.is_flag)
    if (const auto on = flagOf(text)) return Value{.form = Form::kFlag, .on = *on, .text = *on ? "on" : "off"};
  for (const std::string& word : wordsOf(row))
    if (isSame(text, word)) return Value{.form = Form::kWord, .text = word};
  if (row.least <= row.most)
    if (const auto n = numberOf(row, text))
      return Value{.form = Form::kNumber, .number = *n, .text = std::to_string(*n)};
  if (isPath(row, text)) return Value{.form = Form::kPath, .text = std::string(text)};
  return std::nullopt;
}

std::string expected(const Row& row) {
  std::vector<std::string> parts;
  if (row.is_flag) parts = {"on", "off"};
  for (std::string& word : wordsOf(row)) parts.push_back(std::move(word));
  if (row.least <= row.most)
    parts.push_back(row.most == INT_MAX || row.most == INT64_MAX
                        ? "a whole number from " + std::to_string(row.least) + " on"
                        : "a whole number from " + std::to_string(row.least) + " to " + std::to_string(row.most));
  if (row.path == Path::kFile) parts.push_back("a file name");
  if (row.path == Path::kAbsolute) parts.push_back("an absolute path");
  if (row.path == Path::kMade) parts.push_back("a directory");
  std::string text = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) text += (i + 1 < parts.size() ? ", " : " or ") + parts[i];
  return text;
}

const char* textOf(Variable variable) {
  const char* text = secure_getenv(rowOf(variable).name);
  return text != nullptr && *text != 0 ? text : nullptr;
}

Value read(Variable variable, std::string& complaint, const std::string& otherwise) {
  const Row& row = rowOf(variable);
  if (const char* text = textOf(variable)) {
    if (auto value = parse(row, text)) {
      value->is_set = true;
      return *std::move(value);
    }
    complaint = complaintAbout(row, text, otherwise);
  }
  return parse(row, row.fallback).value_or(Value{});
}

Value read(Variable variable, const std::string& otherwise) {
  std::string complaint;
  Value value = read(variable, complaint, otherwise);
  if (!complaint.empty()) logOnce(variable, complaint);
  return value;
}

std::string readDirectory(Variable variable) {
  const Value value = read(variable);
  if (value.text.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(value.text, error);
  if (!error) return value.text;
  logOnce(variable,
          std::string(rowOf(variable).name) + "=" + value.text + ": " + error.message() + "; nothing is written there");
  return {};
}

std::vector<std::string> complaintsAboutNames(const char* const* variables) {
  const std::vector<std::string> known = allNames();
  std::vector<std::string> complaints;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view text = *variables;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with(kPrefix) || std::ranges::find(known, name) != known.end()) continue;
    complaints.push_back(name + " in the environment: Shunt reads no variable of that name" + didYouMean(name, known));
  }
  return complaints;
}

}  // namespace shunt::detail::environment
