#include "src/trace/call_site.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace shunt::trace_detail {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

}  // namespace

std::string callSite() {
  Dl_info self, at;
  void* frames[64];
  if (dladdr(reinterpret_cast<void*>(&callSite), &self) == 0) return "";
  const int n = backtrace(frames, 64);
  for (int i = 0; i < n; ++i) {
    // One byte back: the return address may belong to the next line.
    const auto address = reinterpret_cast<uintptr_t>(frames[i]) - 1;
    if (dladdr(reinterpret_cast<void*>(address), &at) == 0 || at.dli_fname == nullptr) continue;
    if (at.dli_fbase == self.dli_fbase) continue;
    const uintptr_t offset = address - reinterpret_cast<uintptr_t>(at.dli_fbase);
    const std::string where = at.dli_sname != nullptr ? demangled(at.dli_sname) + " in " : "";
    return fmt::format(" (called from {}{}; addr2line -Cfie {} {:#x} shows the line)", where, at.dli_fname,
                       at.dli_fname, offset);
  }
  return "";
}

}  // namespace shunt::trace_detail
