// What options accept. Each check gives a message that names what is expected, what was given, and the nearest word.
// Pure functions; fileToWrite and cacheDirectory look at the file system.
#pragma once

#include <shunt/core/environment.h>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace shunt::cli {

/// In quotes, cut if it is long.
std::string shownValue(const std::string& text);
/// "expected v3 or v4, got 'v5'; did you mean 'v3' or 'v4'?"
std::string notExpected(const std::string& expected, const std::string& given,
                        const std::vector<std::string>& words = {});

CLI::Validator oneOf(const std::vector<std::string>& words);
CLI::Validator wholeNumber(int64_t least, int64_t most);
/// Whatever the environment variable accepts.
CLI::Validator valueOf(detail::environment::Variable variable);
/// A file that exists, or whose directory does.
CLI::Validator fileToWrite();
/// on, off, or a directory, which need not exist.
CLI::Validator cacheDirectory();
CLI::Validator notEmpty(const std::string& expected);

}  // namespace shunt::cli
