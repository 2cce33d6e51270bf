#include "jit/bitcode/source_cache.h"

#include "jit/emit/fatal_errors.h"

namespace shunt::jit {

SourceCache::SourceCache(const Library& library, const HostSymbols& host) : library_(library), binding_(library, host) {
  context_.setDiscardValueNames(true);
  reportErrorsAsFatal(context_);
}

llvm::Expected<SourceUnit*> SourceCache::unitFor(llvm::StringRef name) {
  const llvm::ArrayRef<uint32_t> numbers = library_.unitsOf(name);
  if (numbers.empty()) return llvm::createStringError("there is no bitcode of it");
  for (uint32_t number : numbers) {
    if (const auto loaded = units_.find(number); loaded != units_.end()) return loaded->second.get();
  }
  auto unit = SourceUnit::open(library_.unit(numbers[0]), numbers[0], context_);
  if (!unit) return unit.takeError();
  return (units_[numbers[0]] = std::move(*unit)).get();
}

}  // namespace shunt::jit
