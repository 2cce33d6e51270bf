// shunt cache list, verify, clear: what lies in the disk cache of thunks and fused loops.
#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

#include <shunt/core/system_info.h>
#include <shunt/jit/cache.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>

namespace shunt::cli {
namespace {

using jit::CacheEntry;

const char* toString(CacheEntry::State state) {
  switch (state) {
    case CacheEntry::State::kUsable:
      return "usable";
    case CacheEntry::State::kOther:
      return "other";
    case CacheEntry::State::kDamaged:
      return "damaged";
  }
  return "?";
}

/// The one that is named, the environment's, or where SHUNT_JIT_CACHE=on would put it.
std::string directoryOf(const std::string& named) {
  if (!named.empty()) return std::filesystem::absolute(named).string();
  const std::string set = jit::cache_directory();
  if (set.empty())
    if (const std::string problem = system_info().cache.problem; !problem.empty())
      throw Error(problem + "; name another directory with --directory");
  const std::string directory = set.empty() ? jit::default_cache_directory() : set;
  SHUNT_CHECK(!directory.empty(), "there is no home directory for the cache; name one with --directory");
  return directory;
}

/// One that was never made is empty, not an error.
std::vector<CacheEntry> entriesOf(const std::string& directory) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(directory))) return {};
  return jit::cache_entries(directory);
}

std::string dayOf(int64_t seconds) {
  const std::time_t t = seconds;
  std::tm day{};
  char text[16];
  return localtime_r(&t, &day) != nullptr && std::strftime(text, sizeof text, "%Y-%m-%d", &day) != 0 ? text : "?";
}

std::string nameOf(const CacheEntry& e) {
  if (e.op.empty()) return e.file;
  const std::string keys = e.keys.empty() ? "" : fmt::format(" {{{}}}", e.keys);  // a fused loop has none
  return fmt::format("{}{} ({})", e.op, keys, e.signature);
}

void printJson(const std::string& directory, const std::vector<CacheEntry>& entries) {
  nlohmann::ordered_json out{{"directory", directory}, {"entries", nlohmann::ordered_json::array()}};
  for (const CacheEntry& e : entries)
    out["entries"].push_back({{"file", e.file},
                              {"bytes", e.bytes},
                              {"used", e.used},
                              {"state", toString(e.state)},
                              {"problem", e.problem},
                              {"op", e.op},
                              {"keys", e.keys},
                              {"signature", e.signature}});
  std::cout << out.dump(2) << '\n';
}

void printTotals(const std::string& directory, const std::vector<CacheEntry>& entries) {
  uint64_t bytes = 0;
  size_t count[3] = {};
  for (const CacheEntry& e : entries) {
    bytes += e.bytes;
    ++count[static_cast<size_t>(e.state)];
  }
  std::cout << fmt::format(
      "{} thunks and fused loops, {} bytes, in {}: {} usable by this build on this CPU, {} of other ones, {} damaged\n",
      entries.size(), bytes, directory, count[0], count[1], count[2]);
}

void listCache(const std::string& named, bool json) {
  const std::string directory = directoryOf(named);
  const std::vector<CacheEntry> entries = entriesOf(directory);
  if (json) return printJson(directory, entries);
  if (!entries.empty())
    std::cout << fmt::format("{:<8} {:>8} {:<10}  operator {{keys}} (arguments)\n", "state", "bytes", "used");
  for (const CacheEntry& e : entries)
    std::cout << fmt::format("{:<8} {:>8} {:<10}  {}{}\n", toString(e.state), e.bytes, dayOf(e.used), nameOf(e),
                             e.problem.empty() ? "" : ": " + e.problem);
  printTotals(directory, entries);
}

/// Whether no file is damaged; names those that are.
bool verifyCache(const std::string& named) {
  const std::string directory = directoryOf(named);
  const std::vector<CacheEntry> entries = entriesOf(directory);
  bool good = true;
  for (const CacheEntry& e : entries) {
    if (e.state != CacheEntry::State::kDamaged) continue;
    good = false;
    std::cout << e.file << ": " << e.problem << '\n';
  }
  printTotals(directory, entries);
  return good;
}

void clearCache(const std::string& named) {
  const std::string directory = directoryOf(named);
  const bool exists = std::filesystem::exists(std::filesystem::symlink_status(directory));
  std::cout << fmt::format("removed {} files from {}\n", exists ? jit::cache_clear(directory) : 0, directory);
}

}  // namespace

Command addCache(CLI::App& app) {
  struct Options {
    std::string directory;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* cache = app.add_subcommand("cache", "Look at the disk cache of compiled code (SHUNT_JIT_CACHE)");
  cache->require_subcommand(1);
  cache->add_option("-d,--directory", options->directory, "Where it is, if not where the environment says")
      ->type_name("DIRECTORY")
      ->check(notEmpty("a directory"));
  CLI::App* list = cache->add_subcommand("list", "List what is in it");
  list->add_flag("--json", options->json, "Print it as JSON");
  CLI::App* verify = cache->add_subcommand("verify", "Read all of it; fails if a file is damaged");
  CLI::App* clear = cache->add_subcommand("clear", "Remove all of it");
  for (CLI::App* command : {list, verify, clear}) command->fallthrough();  // --directory may stand behind them
  return {cache, [options, list, verify] {
            if (*verify) return verifyCache(options->directory) ? 0 : 1;
            *list ? listCache(options->directory, options->json) : clearCache(options->directory);
            return 0;
          }};
}

}  // namespace shunt::cli
