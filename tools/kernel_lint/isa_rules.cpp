// The rules for objects of one instruction set: nothing in them may be linked in the place of another set's code.
#include "tools/kernel_lint/math_names.h"
#include "tools/kernel_lint/rules.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/Object/ELFObjectFile.h>

namespace shunt::lint {
namespace {

// An error inside the object file itself: nothing sensible can be said about it.
template <class T>
T take(llvm::Expected<T> value, const llvm::object::ObjectFile& object) {
  if (!value) llvm::report_fatal_error(object.getFileName() + ": " + llvm::toString(value.takeError()));
  return std::move(*value);
}

// The one exception to "no weak symbol": an inline constexpr table. Its bytes are the same for every instruction set.
bool isConstantData(const llvm::object::ELFSymbolRef& symbol, const llvm::object::ObjectFile& object) {
  if (symbol.getELFType() != llvm::ELF::STT_OBJECT) return false;
  const llvm::object::section_iterator section = take(symbol.getSection(), object);
  if (section == object.section_end()) return false;
  const uint64_t flags = llvm::object::ELFSectionRef(*section).getFlags();
  return !(flags & (llvm::ELF::SHF_WRITE | llvm::ELF::SHF_EXECINSTR));
}

void checkSymbol(const llvm::object::ELFSymbolRef& symbol, const llvm::object::ObjectFile& object, Findings& findings) {
  const std::string file = object.getFileName().str();
  const std::string name = take(symbol.getName(), object).str();
  const uint32_t flags = take(symbol.getFlags(), object);
  if (flags & llvm::object::SymbolRef::SF_Undefined) {
    if (!isMathFunction(name) || isExactMathFunction(name)) return;
    findings.push_back({file, "calls " + name + " of libm, whose bits are not ours: use shunt::math"});
    return;
  }
  const uint8_t binding = symbol.getBinding();
  if (binding != llvm::ELF::STB_WEAK && binding != llvm::ELF::STB_GNU_UNIQUE) return;
  if (isConstantData(symbol, object)) return;
  findings.push_back({file, "defines the weak symbol " + llvm::demangle(name) +
                                ", and the linker may use this instruction set's copy for every CPU: give it internal "
                                "linkage or put it inside namespace SHUNT_ISA_NAMESPACE"});
}

}  // namespace

void checkIsaObject(const llvm::object::ObjectFile& object, Findings& findings) {
  const auto* elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(&object);
  if (!elf) {
    findings.push_back({object.getFileName().str(), "is not an ELF object"});
    return;
  }
  for (const llvm::object::ELFSymbolRef symbol : elf->symbols()) checkSymbol(symbol, object, findings);
  for (const llvm::object::SectionRef& section : object.sections()) {
    const llvm::StringRef name = take(section.getName(), object);
    if (section.getSize() == 0 ||
        !(name.starts_with(".init_array") || name.starts_with(".ctors") || name.starts_with(".preinit_array"))) {
      continue;
    }
    findings.push_back({object.getFileName().str(),
                        "has a static initialiser (" + name.str() +
                            "), which would run this instruction set's code on every CPU at load time: make it "
                            "constexpr, or move it to a source file that is compiled once"});
  }
}

}  // namespace shunt::lint
