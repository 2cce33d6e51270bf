// Writes the table of symbols that libshunt carries, as assembler.
#include "jit/host/host_symbol_table.h"
#include "tools/host_symbols/symbols.h"

#include <algorithm>
#include <vector>

namespace shunt::host_symbols {
namespace {

using Entry = llvm::StringMapEntry<Symbol>;

std::vector<const Entry*> select(const Symbols& symbols, bool thread_locals) {
  std::vector<const Entry*> entries;
  for (const Entry& entry : symbols) {
    const Symbol& symbol = entry.getValue();
    if (symbol.wanted && symbol.defined && symbol.thread_local_ == thread_locals) entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) { return a->getKey() < b->getKey(); });
  return entries;
}

std::string quoted(llvm::StringRef name) { return '"' + name.str() + '"'; }

/// The table's strings, each behind the one before.
class Names {
 public:
  std::string place(llvm::StringRef name) {
    text_ += "\t.asciz " + quoted(name) + "\n";
    const size_t at = offset_;
    offset_ += name.size() + 1;
    return std::to_string(at);
  }
  /// Many functions share one.
  std::string placeOfAnnotation(const std::string& annotation) {
    if (annotation.empty()) return std::to_string(jit::HostSymbolTable::kNoAnnotation);
    std::string& at = annotations_[annotation];
    if (at.empty()) at = place(annotation);
    return at;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t offset_ = 0;
  llvm::StringMap<std::string> annotations_;
};

// A hidden symbol's address is a constant distance away. An exported one may come from elsewhere: the dynamic linker is
// asked for it when it is needed.
std::string distance(const Entry& entry) { return entry.getValue().exported ? "0" : quoted(entry.getKey()) + " - ."; }

}  // namespace

std::string writeAssembler(const Symbols& symbols) {
  const std::vector<const Entry*> plain = select(symbols, false), locals = select(symbols, true);
  Names names;
  std::string rows, local_rows;
  const auto begin = [&](const Entry& entry) { return "\t.long " + names.place(entry.getKey()) + ", "; };
  for (const Entry* entry : plain)
    rows += begin(*entry) + distance(*entry) + ", " + names.placeOfAnnotation(entry->getValue().annotation) + "\n";
  for (const Entry* entry : locals) local_rows += begin(*entry) + quoted(entry->getKey()) + "@GOTTPOFF\n";
  return "\t.section .rodata.shunt_host_symbols,\"a\",@progbits\n"
         "\t.globl shunt_host_symbols\n\t.type shunt_host_symbols,@object\n\t.p2align 3\n"
         "\t.hidden __start_shunt_bc\n\t.hidden __stop_shunt_bc\n"
         "shunt_host_symbols:\n\t.long " +
         std::to_string(jit::HostSymbolTable::kVersion) + ", " + std::to_string(plain.size()) + ", " +
         std::to_string(locals.size()) +
         "\n\t.long .Lnames - ., .Lsymbols - ., .Llocals - ., __start_shunt_bc - ., __stop_shunt_bc - .\n"
         "\t.size shunt_host_symbols, . - shunt_host_symbols\n"
         ".Lsymbols:\n" +
         rows + ".Llocals:\n" + local_rows + ".Lnames:\n" + names.text() +
         "\t.section .note.GNU-stack,\"\",@progbits\n";
}

}  // namespace shunt::host_symbols
