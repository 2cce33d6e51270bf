// Frames by glibc's backtrace(), and their names: the dynamic linker's, the file's table of symbols, and what a tool
// finds.
#include "src/base/demangled.h"
#include "src/base/elf_symbols.h"
#include "src/base/source_places.h"

#include <shunt/core/stack_trace.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

namespace shunt {
namespace {

std::string pathOfProgram() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "";
}

/// The frame of a return address.
StackFrame frameAt(const void* returns_to) {
  // One byte back: the address behind a call may belong to the next line, or function.
  const auto address = reinterpret_cast<uintptr_t>(returns_to) - 1;
  Dl_info info{};
  link_map* object = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 ||
      object == nullptr)
    return {.function = {}, .file = {}, .line = 0, .object = {}, .address = address};
  StackFrame frame;
  frame.object = object->l_name != nullptr && *object->l_name != '\0' ? object->l_name : pathOfProgram();
  frame.address = address - object->l_addr;
  if (info.dli_sname != nullptr) frame.function = info.dli_sname;
  return frame;
}

/// The dynamic linker takes the nearest exported function for a static one; the file's table knows better, unless it is
/// stripped.
void nameByFiles(std::vector<StackFrame>& frames) {
  std::map<std::string, detail::ElfSymbols> files;
  for (StackFrame& f : frames) {
    if (f.object.empty()) continue;
    const auto file = files.try_emplace(f.object, f.object).first;
    if (std::string name = file->second.nameAt(f.address); !name.empty()) f.function = std::move(name);
    f.function = detail::demangled(f.function);
  }
}

std::vector<StackFrame> withLines(std::vector<StackFrame> frames) {
  std::vector<detail::CodeAddress> addresses;
  for (const StackFrame& f : frames)
    if (!f.object.empty()) addresses.push_back({f.object, f.address});
  const std::vector<std::vector<detail::SourcePlace>> places = detail::sourcePlaces(addresses);
  std::vector<StackFrame> out;
  size_t next = 0;
  for (StackFrame& f : frames) {
    const size_t at = f.object.empty() ? places.size() : next++;
    const bool is_known =
        at < places.size() && std::ranges::any_of(places[at], [](const auto& p) { return p.line > 0; });
    if (!is_known) {
      out.push_back(std::move(f));
      continue;
    }
    for (const detail::SourcePlace& p : places[at]) {
      StackFrame& frame = out.emplace_back(f);
      if (!p.function.empty()) frame.function = p.function;
      frame.file = p.file;
      frame.line = p.line;
    }
  }
  return out;
}

/// The frames without the first one, that of the function that called backtrace().
std::vector<StackFrame> framesOf(std::span<void* const> addresses, size_t most, bool lines) {
  std::vector<StackFrame> frames;
  for (void* a : addresses.subspan(std::min<size_t>(1, addresses.size())))
    if (frames.size() < most) frames.push_back(frameAt(a));
  nameByFiles(frames);
  if (lines) frames = withLines(std::move(frames));
  if (frames.size() > most) frames.resize(most);
  return frames;
}

/// As many as backtrace() is asked for, with the caller's.
class Addresses {
 public:
  explicit Addresses(size_t most) : all_(std::min(most, kMost) + 1) {}
  void** data() { return all_.data(); }
  int size() const { return static_cast<int>(all_.size()); }
  std::span<void* const> first(int n) const { return std::span(all_).first(static_cast<size_t>(n)); }

 private:
  static constexpr size_t kMost = 1024;
  std::vector<void*> all_;
};

}  // namespace

std::string StackFrame::str() const {
  const std::string& name = function.empty() ? "?" : function;
  if (line > 0) return fmt::format("{} at {}:{}", name, file, line);
  if (!object.empty()) return fmt::format("{} in {}+{:#x}", name, object, address);
  return fmt::format("{} at {:#x}", name, address);
}

SHUNT_NOINLINE std::vector<StackFrame> stackFrames(size_t most, bool lines) {
  Addresses addresses(most);
  const int n = backtrace(addresses.data(), addresses.size());
  return framesOf(addresses.first(n), most, lines);
}

SHUNT_NOINLINE std::string stackTrace(size_t most, bool lines) {
  Addresses addresses(most);
  const int n = backtrace(addresses.data(), addresses.size());
  std::string text;
  size_t number = 0;
  for (const StackFrame& f : framesOf(addresses.first(n), most, lines))
    text += fmt::format("  #{} {}\n", number++, f.str());
  return text;
}

}  // namespace shunt
