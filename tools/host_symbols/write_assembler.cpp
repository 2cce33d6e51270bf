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

// A hidden symbol's address is a constant distance away. An exported one may come from elsewhere: the dynamic linker is
// asked for it when it is needed.
std::string distance(const Entry& entry) { return entry.getValue().exported ? "0" : quoted(entry.getKey()) + " - ."; }

}  // namespace

std::string writeAssembler(const Symbols& symbols) {
  const std::vector<const Entry*> plain = select(symbols, false), locals = select(symbols, true);
  std::string names, rows, local_rows;
  size_t offset = 0;
  const auto place = [&](const Entry& entry) {
    names += "\t.asciz " + quoted(entry.getKey()) + "\n";
    const size_t at = offset;
    offset += entry.getKeyLength() + 1;
    return "\t.long " + std::to_string(at) + ", ";
  };
  for (const Entry* entry : plain) rows += place(*entry) + distance(*entry) + "\n";
  for (const Entry* entry : locals) local_rows += place(*entry) + quoted(entry->getKey()) + "@GOTTPOFF\n";
  return "\t.section .rodata.shunt_host_symbols,\"a\",@progbits\n"
         "\t.globl shunt_host_symbols\n\t.type shunt_host_symbols,@object\n\t.p2align 3\n"
         "\t.hidden __start_shunt_bc\n\t.hidden __stop_shunt_bc\n"
         "shunt_host_symbols:\n\t.long " +
         std::to_string(jit::HostSymbolTable::kVersion) + ", " + std::to_string(plain.size()) + ", " +
         std::to_string(locals.size()) +
         "\n\t.long .Lnames - ., .Lsymbols - ., .Llocals - ., __start_shunt_bc - ., __stop_shunt_bc - .\n"
         "\t.size shunt_host_symbols, . - shunt_host_symbols\n"
         ".Lsymbols:\n" +
         rows + ".Llocals:\n" + local_rows + ".Lnames:\n" + names + "\t.section .note.GNU-stack,\"\",@progbits\n";
}

}  // namespace shunt::host_symbols
