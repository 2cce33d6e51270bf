// shunt info: the build, the machine, the libraries, the disk cache, and the environment variables in force; and the
// page docs/environment.md.
#include "tools/shunt/command.h"

#include <shunt/core/environment.h>
#include <shunt/core/system_info.h>

#include <fmt/format.h>

#include <iostream>
#include <memory>

namespace shunt::cli {
namespace {

namespace environment = detail::environment;

constexpr const char* kHead = R"(# Environment variables

The environment variables that Shunt reads: what each does, the values it takes, and its default. This page is written
by `bin/shunt info --environment` from the table in `include/shunt/core/environment.h`, and a test compares the two.

```sh
bin/shunt info   # this build, this machine, and every variable with the value in force
```

- `on` can also be written `1`, `true` or `yes`, and `off` `0`, `false` or `no`. Letter case does not matter in these
  words and in the words of the table.
- An empty value is the same as no value.
- Each variable is read once, at its first use. `SHUNT_LOG`, `SHUNT_TRACE`, `SHUNT_PROFILE`, `SHUNT_STATS` and
  `SHUNT_ISA` are read when the library is loaded. `SHUNT_JIT` and `SHUNT_JIT_CACHE` are also looked at then. Unless the
  JIT is off, the library makes the directory that `SHUNT_JIT_CACHE` names, or one warning says why it can't. Calls such
  as `jit::set_enabled` or `set_num_threads` override the variable.
- A value that is not allowed gives one warning, and the default holds:
  `SHUNT_TRACE=jsn: expected on, off or json; using off; did you mean 'json'?`.
- A variable that begins with `SHUNT_` and is not on this page gives one warning when the library is loaded:
  `SHUNT_JIT_THRESOLD in the environment: Shunt reads no variable of that name; did you mean 'SHUNT_JIT_THRESHOLD'?`.
- Programs with more rights than their caller (set-user-ID, file capabilities: `AT_SECURE`) ignore all of them.

)";

constexpr const char* kFoot = R"(
## Variables of other libraries
OpenBLAS reads `OPENBLAS_CORETYPE`, and oneDNN `ONEDNN_MAX_CPU_ISA`. Shunt respects both.
)";

/// A word of the table as code, and a description of a value as it is.
std::string cell(std::string_view text) {
  return text.find(' ') == text.npos ? fmt::format("`{}`", text) : std::string(text);
}

std::string valuesOf(const environment::Row& row) {
  std::string text;
  const std::string values = environment::expected(row);
  for (size_t at = 0; at < values.size();) {  // commas and "or" stand between the values
    const size_t comma = values.find(", ", at), last = values.find(" or ", at);
    const size_t end = std::min({comma, last, values.size()});
    text += cell(std::string_view(values).substr(at, end - at));
    const size_t next = end == comma ? end + 2 : end == last ? end + 4 : end;
    text += values.substr(end, next - end);
    at = next;
  }
  return text;
}

std::string page() {
  std::string text = kHead;
  text += "## Shunt\n| variable | values | default | effect | read by |\n|---|---|---|---|---|\n";
  for (const environment::Row& row : environment::kTable)
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, valuesOf(row),
                        *row.fallback != 0 ? cell(row.fallback) : row.instead, row.description, row.reader);
  text += "\n## Tests, benchmarks and scripts\nNo library reads these.\n\n| variable | effect |\n|---|---|\n";
  for (const environment::ScriptRow& row : environment::kScriptTable)
    text += fmt::format("| `{}` | {} |\n", row.name, row.description);
  return text + kFoot;
}

}  // namespace

Command addInfo(CLI::App& app) {
  struct Options {
    bool json = false;
    bool environment = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* info =
      app.add_subcommand("info", "Show version, build, CPU, libraries, compiler, disk cache and variables");
  CLI::Option* as_json = info->add_flag("--json", options->json, "Print it as JSON");
  info->add_flag("--environment", options->environment, "Print the page docs/environment.md instead")
      ->excludes(as_json);
  return {info, [options] {
            if (options->environment)
              std::cout << page();
            else
              std::cout << (options->json ? system_info().json() : system_info().text());
            return 0;
          }};
}

}  // namespace shunt::cli
