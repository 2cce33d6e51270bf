#include "src/trace/call_site.h"

#include "src/base/demangled.h"
#include "src/base/elf_symbols.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <fmt/format.h>

#include <algorithm>

namespace shunt::trace_detail {
namespace {

/// Whether a function is a template of Tensor's, which programs have copies of: item<double>().
bool isOfTensor(const std::string& function) {
  return function.find("shunt::Tensor::") < std::min(function.find('('), function.size());
}

/// The function at an address in a file, whose name the dynamic linker has only if it is exported.
std::string functionAt(const Dl_info& at, uintptr_t address) {
  std::string name = detail::ElfSymbols(at.dli_fname).nameAt(address);
  if (name.empty() && at.dli_sname != nullptr) name = at.dli_sname;
  return detail::demangled(name);
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
    link_map* object = nullptr;
    if (dladdr1(reinterpret_cast<void*>(address), &at, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 ||
        at.dli_fname == nullptr || object == nullptr)
      continue;
    if (at.dli_fbase == self.dli_fbase) continue;
    const uintptr_t offset = address - object->l_addr;
    const std::string function = functionAt(at, offset), where = function.empty() ? "" : function + " in ";
    if (isOfTensor(function)) continue;
    return fmt::format(" (called from {}{}; addr2line -Cfie {} {:#x} shows the line)", where, at.dli_fname,
                       at.dli_fname, offset);
  }
  return "";
}

}  // namespace shunt::trace_detail
