// Runs other programs, and this one again with other settings. One thread.
#pragma once

#include <filesystem>
#include <string>

namespace bench {

/// What a shell command wrote to its standard output; `status` is its exit status, -1 where a signal ended it.
std::string runCommand(const std::string& command, int& status);

/// One word for the shell, whatever stands in it.
std::string quoted(const std::string& word);

/// Where bench_bars and the other programs of the build are.
std::filesystem::path programFolder();

}  // namespace bench
