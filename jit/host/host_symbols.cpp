#include "jit/host/host_symbols.h"

#include "jit/host/host_symbol_table.h"
#include "jit/host/library_symbols.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" const shunt::jit::HostSymbolTable shunt_host_symbols;

namespace shunt::jit {
namespace {

template <class T>
const T* behind(const int32_t& field) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(&field) + field);
}

// The row of `name` in rows sorted by name, or null.
template <class Row>
const Row* find(const Row* rows, uint32_t count, const char* names, std::string_view name) {
  const Row* end = rows + count;
  const Row* row =
      std::lower_bound(rows, end, name, [names](const Row& r, std::string_view key) { return names + r.name < key; });
  return row != end && names + row->name == name ? row : nullptr;
}

// The compiler's library: its scope has libshunt and what that uses, also where a program has loaded these for itself
// alone.
void* ownScope() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&ownScope), &info) == 0) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

uint64_t askDynamicLinker(const std::string& name) {
  if (const uint64_t address = inGlobalScope(name)) return address;
  static void* const own = ownScope();
  return own != nullptr ? reinterpret_cast<uint64_t>(dlsym(own, name.c_str())) : 0;
}

}  // namespace

struct HostSymbols::State {
  const HostSymbolTable& table = shunt_host_symbols;
  const char* names = behind<char>(table.names);
  const HostSymbolTable::Symbol* symbols = behind<HostSymbolTable::Symbol>(table.symbols);
  const HostSymbolTable::ThreadLocal* thread_locals = behind<HostSymbolTable::ThreadLocal>(table.thread_locals);

  std::mutex mutex;
  std::unordered_map<std::string, uint64_t> dynamic;  // guarded by mutex; what was found, never what was not

  std::once_flag sorted;
  std::vector<std::pair<uint64_t, uint32_t>> by_address;  // constant once sorted: address, index of the symbol

  std::once_flag by_annotation_made;
  std::unordered_map<std::string_view, std::string_view> by_annotation;  // constant once made; of several, one

  const char* annotationOf(const HostSymbolTable::Symbol& symbol) const {
    return symbol.annotation != HostSymbolTable::kNoAnnotation ? names + symbol.annotation : "";
  }

  void sortByAnnotation() {
    for (uint32_t i = 0; i < table.symbol_count; ++i)
      if (symbols[i].annotation != HostSymbolTable::kNoAnnotation)
        by_annotation.emplace(annotationOf(symbols[i]), names + symbols[i].name);
  }

  uint64_t dynamicAddress(std::string_view name) {
    std::string key(name);
    std::lock_guard lock(mutex);
    if (const auto known = dynamic.find(key); known != dynamic.end()) return known->second;
    const uint64_t address = askDynamicLinker(key);
    if (address != 0) dynamic.emplace(std::move(key), address);
    return address;
  }

  uint64_t addressOf(const HostSymbolTable::Symbol& symbol) {
    if (symbol.address != 0) return reinterpret_cast<uint64_t>(behind<char>(symbol.address));
    return dynamicAddress(names + symbol.name);
  }

  void sortByAddress() {
    by_address.reserve(table.symbol_count);
    for (uint32_t i = 0; i < table.symbol_count; ++i) {
      if (const uint64_t address = addressOf(symbols[i])) by_address.emplace_back(address, i);
    }
    std::sort(by_address.begin(), by_address.end());
  }
};

HostSymbols::HostSymbols() : state_(new State) {}

const HostSymbols& HostSymbols::instance() {
  static const HostSymbols symbols;
  return symbols;
}

std::optional<uint64_t> HostSymbols::address(std::string_view name) const {
  if (name.starts_with(kHostPrefix)) name.remove_prefix(kHostPrefix.size());
  if (const auto other = QualifiedName::parse(llvm::StringRef(name))) {
    const auto library = LibrarySymbols::find(other->library);
    return library ? library->address(other->name) : std::nullopt;
  }
  const HostSymbolTable::Symbol* symbol = find(state_->symbols, state_->table.symbol_count, state_->names, name);
  // What libshunt doesn't use may be of a library that can go, and is not remembered.
  const uint64_t address = symbol ? state_->addressOf(*symbol) : askDynamicLinker(std::string(name));
  return address ? std::optional(address) : std::nullopt;
}

bool HostSymbols::isHidden(std::string_view name) const {
  const HostSymbolTable::Symbol* symbol = find(state_->symbols, state_->table.symbol_count, state_->names, name);
  return symbol != nullptr && symbol->address != 0;
}

std::optional<std::string_view> HostSymbols::name(uint64_t address) const {
  std::call_once(state_->sorted, [this] { state_->sortByAddress(); });
  const auto row =
      std::lower_bound(state_->by_address.begin(), state_->by_address.end(), std::pair(address, uint32_t{0}));
  if (row != state_->by_address.end() && row->first == address) {
    return state_->names + state_->symbols[row->second].name;
  }
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_sname == nullptr ||
      reinterpret_cast<uint64_t>(info.dli_saddr) != address || this->address(info.dli_sname) != address) {
    return std::nullopt;  // or another library's function of a name that means libshunt's here
  }
  return info.dli_sname;
}

std::string_view HostSymbols::annotation(std::string_view name) const {
  const HostSymbolTable::Symbol* symbol = find(state_->symbols, state_->table.symbol_count, state_->names, name);
  return symbol != nullptr ? state_->annotationOf(*symbol) : "";
}

std::string_view HostSymbols::annotated(std::string_view annotation) const {
  std::call_once(state_->by_annotation_made, [this] { state_->sortByAnnotation(); });
  const auto found = state_->by_annotation.find(annotation);
  return found != state_->by_annotation.end() ? found->second : std::string_view();
}

std::optional<int64_t> HostSymbols::tls_offset(std::string_view name) const {
  const HostSymbolTable::ThreadLocal* variable =
      find(state_->thread_locals, state_->table.thread_local_count, state_->names, name);
  if (variable == nullptr) return std::nullopt;
  return *behind<int64_t>(variable->slot);
}

std::string HostSymbols::thread_locals() const {
  std::string out;
  for (uint32_t i = 0; i < state_->table.thread_local_count; ++i)
    out += (i == 0 ? "" : " ") + std::to_string(*behind<int64_t>(state_->thread_locals[i].slot));
  return out;
}

std::string_view HostSymbols::bitcode() const {
  const char* begin = behind<char>(state_->table.bitcode_begin);
  return {begin, static_cast<size_t>(behind<char>(state_->table.bitcode_end) - begin)};
}

size_t HostSymbols::size() const { return state_->table.symbol_count; }

}  // namespace shunt::jit
