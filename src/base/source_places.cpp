#include "src/base/source_places.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

namespace shunt::detail {
namespace {

using Places = std::vector<std::vector<SourcePlace>>;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{10};

/// The environment, but for what makes tools ask servers for debug information.
std::vector<char*> environmentOffline() {
  std::vector<char*> out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e)
    if (!std::string_view(*e).starts_with("DEBUGINFOD_URLS=")) out.push_back(*e);
  out.push_back(nullptr);
  return out;
}

/// The file's text up to its end; nothing if that is not reached in time.
std::optional<std::string> readAll(int file, Clock::time_point end) {
  std::string text;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{.fd = file, .events = POLLIN, .revents = 0};
    const int events = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) return std::nullopt;
    char buffer[4096];
    const ssize_t n = ::read(file, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

/// Whether the child has ended with status 0.
bool endedWell(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return errno == ECHILD;  // the program lets the system forget its children
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// What a program on PATH prints; nothing if there is none, or it fails.
std::optional<std::string> outputOf(const std::vector<std::string>& command, Clock::time_point end) {
  if (secure_getenv("PATH") == nullptr) return std::nullopt;  // none, or not one to trust
  std::vector<char*> arguments, environment = environmentOffline();
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // First: where a program has closed its stdin or stderr, the pipe may have that number.
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  std::optional<std::string> text;
  if (failed == 0) {
    text = readAll(pipe[0], end);
    if (!text) kill(child, SIGKILL);
    if (!endedWell(child)) text.reset();
  }
  close(pipe[0]);
  return text;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string known(std::string_view text) { return text.starts_with("??") ? "" : std::string(text); }

/// "dir/file.cpp:12", with a column or "(discriminator 2)" behind that in some cases.
SourcePlace placeFrom(const std::string& function, std::string_view where, bool has_column) {
  where = where.substr(0, where.rfind(" (discriminator"));
  if (has_column) where = where.substr(0, where.rfind(':'));
  const size_t colon = where.rfind(':');
  SourcePlace place{.function = known(function), .file = known(where.substr(0, colon))};
  if (colon != std::string_view::npos && !place.file.empty())
    place.line = std::atoi(std::string(where.substr(colon + 1)).c_str());
  if (place.line == 0) place.file.clear();
  return place;
}

std::string inHex(uint64_t address) { return fmt::format("{:#x}", address); }

std::optional<Places> bySymbolizer(std::span<const CodeAddress> addresses, Clock::time_point end) {
  std::vector<std::string> command = {"llvm-symbolizer", "--demangle", "--inlines", "--functions=linkage"};
  for (const CodeAddress& a : addresses) command.push_back(fmt::format("\"{}\" {}", a.object, inHex(a.address)));
  const std::optional<std::string> printed = outputOf(command, end);
  if (!printed) return std::nullopt;
  Places places = readSymbolizer(*printed);
  if (places.size() != addresses.size()) return std::nullopt;
  return places;
}

Places byAddr2line(std::span<const CodeAddress> addresses, Clock::time_point end) {
  Places places(addresses.size());
  std::map<std::string, std::vector<size_t>> by_object;
  for (size_t i = 0; i < addresses.size(); ++i) by_object[addresses[i].object].push_back(i);
  for (const auto& [object, which] : by_object) {
    std::vector<std::string> command = {"addr2line", "-a", "-C", "-f", "-i", "-e", object};
    for (const size_t i : which) command.push_back(inHex(addresses[i].address));
    const std::optional<std::string> printed = outputOf(command, end);
    if (!printed) continue;
    Places found = readAddr2line(*printed);
    if (found.size() != which.size()) continue;
    for (size_t k = 0; k < which.size(); ++k) places[which[k]] = std::move(found[k]);
  }
  return places;
}

}  // namespace

Places readSymbolizer(const std::string& printed) {
  Places all(1);
  const std::vector<std::string> lines = linesOf(printed);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty())
      all.emplace_back();
    else if (i + 1 < lines.size())
      all.back().push_back(placeFrom(lines[i], lines[i + 1], true)), ++i;
  }
  all.pop_back();  // an empty line ends each
  return all;
}

Places readAddr2line(const std::string& printed) {
  Places all;
  const std::vector<std::string> lines = linesOf(printed);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("0x"))
      all.emplace_back();
    else if (!all.empty() && i + 1 < lines.size())
      all.back().push_back(placeFrom(lines[i], lines[i + 1], false)), ++i;
  }
  return all;
}

Places sourcePlaces(std::span<const CodeAddress> addresses) {
  if (addresses.empty()) return {};
  const Clock::time_point end = Clock::now() + kLongest;
  for (const CodeAddress& a : addresses)
    if (a.object.find_first_of("\"\n") != std::string::npos) return byAddr2line(addresses, end);
  if (std::optional<Places> places = bySymbolizer(addresses, end)) return *std::move(places);
  return byAddr2line(addresses, end);
}

}  // namespace shunt::detail
