#include <shunt/compile/compile.h>
#include <shunt/core/log.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace shunt {
namespace {

int recordAfterFromEnvironment() {
  const char* const given = secure_getenv("SHUNT_COMPILE_RECORD_AFTER");
  const std::string_view text = given != nullptr ? given : "";
  if (text.empty() || text == "auto") return CompileOptions::kWhenItPays;
  int calls = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), calls);
  if (error == std::errc() && end == text.data() + text.size() && calls >= 1) return calls;
  detail::logWarning(
      detail::str("SHUNT_COMPILE_RECORD_AFTER=", text, " is neither auto nor a number of calls from 1 on; auto holds"));
  return CompileOptions::kWhenItPays;
}

}  // namespace

int default_record_after() {
  static const int calls = recordAfterFromEnvironment();
  return calls;
}

}  // namespace shunt
