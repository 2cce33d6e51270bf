#include "jit/link/literals.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/xxhash.h>

#include <cstring>
#include <mutex>
#include <new>

namespace shunt::jit::literals {
namespace {

struct Pool {
  struct Literal {
    std::string identity;
    std::string bytes;
    std::byte* memory;
    uint64_t alignment;
  };
  std::mutex mutex;
  llvm::StringMap<Literal> literals;  // by symbol; guarded by mutex, nothing is ever removed

  std::byte* copyOf(llvm::StringRef bytes, uint64_t alignment) {
    auto* memory = static_cast<std::byte*>(::operator new(bytes.size() + 1, std::align_val_t(alignment)));
    std::memcpy(memory, bytes.data(), bytes.size());
    return memory;
  }
};

Pool& pool() {
  static Pool& p = *new Pool;
  return p;
}

}  // namespace

std::string intern(llvm::StringRef bytes, uint64_t alignment, llvm::StringRef identity) {
  const uint64_t hash = llvm::xxh3_64bits(bytes) ^ (identity.empty() ? 0 : llvm::xxh3_64bits(identity) * 3);
  const std::string base = kPrefix.str() + llvm::utohexstr(hash) + "." + std::to_string(alignment);
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  for (int other = 0;; ++other) {  // another content with the same hash has the plain name
    std::string symbol = other == 0 ? base : base + "." + std::to_string(other);
    const auto [entry, inserted] = p.literals.try_emplace(symbol);
    Pool::Literal& literal = entry->getValue();
    if (inserted) literal = {identity.str(), bytes.str(), p.copyOf(bytes, alignment), alignment};
    if (literal.bytes == bytes && literal.identity == identity && literal.alignment == alignment) return symbol;
  }
}

std::optional<uint64_t> address(llvm::StringRef symbol) {
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  const auto found = p.literals.find(symbol);
  if (found == p.literals.end()) return std::nullopt;
  return reinterpret_cast<uint64_t>(found->getValue().memory);
}

}  // namespace shunt::jit::literals
