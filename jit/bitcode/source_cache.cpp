#include "jit/bitcode/source_cache.h"

#include "jit/host/fatal_errors.h"

namespace shunt::jit {

SourceCache::SourceCache(const Library& library, const HostSymbols& host)
    : host_(host), own_{library, Binding(library, host)} {
  context_.setDiscardValueNames(true);
  reportErrorsAsFatal(context_);
}

SourceCache::Loan::Loan(SourceCache& cache, const Libraries& libraries) : cache_(cache) {
  for (const auto& library : libraries.others()) {
    cache.lent_.emplace(library->symbols()->number(),
                        Source{*library, Binding(*library, cache.host_, &cache.own_.binding)});
  }
}

SourceCache::Loan::~Loan() { cache_.lent_.clear(); }

// Whose name it is; `name` becomes the one that the library itself has for it.
const SourceCache::Source* SourceCache::sourceOf(llvm::StringRef& name) const {
  const auto qualified = QualifiedName::parse(name);
  if (!qualified) return &own_;
  name = qualified->name;
  const auto lent = lent_.find(qualified->library);
  return lent != lent_.end() ? &lent->second : nullptr;
}

bool SourceCache::has(llvm::StringRef name) const {
  const Source* source = sourceOf(name);
  return source != nullptr && source->library.has(name);
}

llvm::Expected<SourceUnit*> SourceCache::unitFor(llvm::StringRef name) {
  auto* source = const_cast<Source*>(sourceOf(name));
  const llvm::ArrayRef<uint32_t> numbers =
      source != nullptr ? source->library.unitsOf(name) : llvm::ArrayRef<uint32_t>();
  if (numbers.empty()) return llvm::createStringError("there is no bitcode of it");
  for (uint32_t number : numbers) {
    if (const auto loaded = source->units.find(number); loaded != source->units.end()) return loaded->second.get();
  }
  auto unit = SourceUnit::open(source->library.unit(numbers[0]), numbers[0], source->binding, context_);
  if (!unit) return unit.takeError();
  return (source->units[numbers[0]] = std::move(*unit)).get();
}

}  // namespace shunt::jit
