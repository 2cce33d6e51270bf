#include "jit/host/literals.h"

#include "jit/host/host_symbols.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/xxhash.h>

#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace shunt::jit::literals {
namespace {

struct Pool {
  struct Interned {
    Literal literal;
    std::byte* memory = nullptr;
  };
  std::mutex mutex;
  // By symbol; guarded by mutex, nothing is ever removed. Not one of LLVM's maps: out of memory, they jump past the
  // lock.
  std::map<std::string, Interned, std::less<>> literals;
};

Pool& pool() {
  static Pool& p = *new Pool;
  return p;
}

/// The content with its addresses; empty where one is not known.
std::string bound(const Literal& literal) {
  std::string bytes = literal.bytes;
  for (const Literal::Pointer& p : literal.pointers) {
    const auto target =
        llvm::StringRef(p.symbol).starts_with(kPrefix) ? address(p.symbol) : HostSymbols::instance().address(p.symbol);
    if (!target || p.offset > bytes.size() || bytes.size() - p.offset < sizeof(uint64_t)) return "";
    const uint64_t value = *target + p.addend;
    std::memcpy(bytes.data() + p.offset, &value, sizeof value);
  }
  return bytes;
}

std::byte* keep(const std::string& bytes, uint64_t alignment) {
  auto* memory = static_cast<std::byte*>(::operator new(bytes.size() + 1, std::align_val_t(alignment)));
  std::memcpy(memory, bytes.data(), bytes.size());
  return memory;
}

uint64_t hashOf(const Literal& literal) {
  uint64_t hash = llvm::xxh3_64bits(literal.bytes) + 3 * llvm::xxh3_64bits(literal.identity);
  for (const Literal::Pointer& p : literal.pointers)
    hash = hash * 5 + llvm::xxh3_64bits(p.symbol) + p.offset + (p.addend << 32);
  return hash;
}

}  // namespace

std::string intern(const Literal& literal) {
  const std::string base = kPrefix.str() + llvm::utohexstr(hashOf(literal)) + "." + std::to_string(literal.alignment);
  const std::string bytes = bound(literal);
  if (bytes.empty() && !literal.bytes.empty()) return "";
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  for (int other = 0;; ++other) {  // another content with the same hash has the plain name
    std::string symbol = other == 0 ? base : base + "." + std::to_string(other);
    const auto known = p.literals.find(symbol);
    if (known == p.literals.end()) {
      p.literals.emplace(symbol, Pool::Interned{literal, keep(bytes, literal.alignment)});
      return symbol;
    }
    if (known->second.literal == literal) return symbol;
  }
}

std::optional<uint64_t> address(llvm::StringRef symbol) {
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  const auto found = p.literals.find(std::string_view(symbol));
  if (found == p.literals.end()) return std::nullopt;
  return reinterpret_cast<uint64_t>(found->second.memory);
}

std::optional<Literal> find(llvm::StringRef symbol) {
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  const auto found = p.literals.find(std::string_view(symbol));
  if (found == p.literals.end()) return std::nullopt;
  return found->second.literal;
}

}  // namespace shunt::jit::literals
