// shunt profile: the time that a program's operators take.
#include <filesystem>
#include <memory>

#include "tools/shunt/command.h"
#include "tools/shunt/launch.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

constexpr const char* kMeasured = R"(
The program and its arguments stand behind the options: shunt profile --trace calls.json python3 train.py

At its end the program prints a table on stderr, one line an operator, the largest share first:
  calls, total  how often it ran, and for how long, the operators that it calls included
  self, share   the same without these, and how much of all operators' time that is
  mean          self time of a call
Measured are interpreted calls, on all threads: compiled code (thunks, compile(f)) is off meanwhile, and each call
takes up to 0.1 us longer. Programs of Python that import shunt are measured like those of C++.)";

struct Options {
  CommonSettings common;
  std::string trace;
};

}  // namespace

Command addProfile(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* profile = app.add_subcommand("profile", "Run a program, and print how long each operator took");
  profile->footer(kMeasured);
  profile->prefix_command();
  profile
      ->add_option("--trace", options->trace,
                   "Write each call to this file too, as Chrome trace JSON, which Perfetto reads; %p is the "
                   "process's number")
      ->type_name("FILE")
      ->check(fileToWrite());
  addCommonSettings(*profile, options->common);
  return {profile, [options, profile] {
            Launch launch = launchOf(*profile, options->common);
            // The program may change its directory before it writes there.
            launch.variables["SHUNT_PROFILE"] =
                options->trace.empty() ? "1" : std::filesystem::absolute(options->trace).string();
            return become(launch);
          }};
}

}  // namespace shunt::cli
