#include "jit/cache/thunk_cache.h"

#include "jit/cache/cache_key.h"
#include "jit/cache/process_addresses.h"

#include <shunt/core/log.h>

#include <algorithm>

namespace shunt::jit {
namespace {

// The limit is looked after now and then, by whoever stores.
constexpr unsigned kStoresPerTrim = 256;

/// Trouble with a directory that nobody asked for is nobody's concern.
LogLevel loudness() { return cache_is_default() ? LogLevel::kInfo : LogLevel::kWarning; }

/// Brings the literals into the process; false where one is not what its name says, or points to what is not here.
bool internAll(const CachedObject& object) {
  return std::all_of(object.literals.begin(), object.literals.end(),
                     [](const auto& named) { return literals::intern(named.second) == named.first; });
}

using NamedLiterals = std::vector<std::pair<std::string, Literal>>;

/// False: it means nothing to another process.
bool addLiteral(const std::string& symbol, NamedLiterals& out) {
  if (std::any_of(out.begin(), out.end(), [&](const auto& known) { return known.first == symbol; })) return true;
  const std::optional<Literal> literal = literals::find(symbol);
  if (!literal) return false;
  for (const Literal::Pointer& p : literal->pointers) {
    if (llvm::StringRef(p.symbol).starts_with(literals::kPrefix) ? !addLiteral(p.symbol, out)
                                                                 : !holdsEverywhere(p.symbol))
      return false;
  }
  out.emplace_back(symbol, *literal);
  return true;
}

/// The first line in which a key's process is another than this one.
std::string otherProcess(const std::string& key) {
  if (processKey().empty()) return "this process's libraries have no build ids";
  for (const char* fact : {"libshunt", "libshunt_jit", "llvm", "cpu", "vectors", "thread-locals"})
    if (lineOf("\n" + key, fact) != lineOf("\n" + processKey(), fact))
      return std::string("of another process: ") + fact;
  return "of another process";
}

uint64_t hexadecimal(const std::string& text) {
  uint64_t n = 0;
  return llvm::StringRef(text).getAsInteger(16, n) ? 0 : n;
}

std::string describeSignature(uint64_t signature) {
  std::string out;
  for (uint64_t rest = signature; rest != 0; rest >>= 16) {
    if (rest != signature) out += ", ";
    const auto bits = static_cast<uint16_t>(rest);
    out += bits == 0 ? "-"
                     : shunt::detail::str(shunt::detail::signature::dtypeOf(bits), " ",
                                          shunt::toString(shunt::detail::signature::layoutOf(bits)));
  }
  return out;
}

/// Whose code it is.
void nameSubject(const std::string& key, CacheEntry& entry) {
  if (const std::string steps = lineOf(key, "fused"); !steps.empty()) {
    entry.op = "fused loop of " + steps + (steps == "1" ? " step" : " steps");
    entry.signature = lineOf(key, "inputs");
    return;
  }
  entry.op = lineOf(key, "operator");
  entry.keys = shunt::toString(DispatchKeySet::fromRaw(hexadecimal(lineOf(key, "keys"))));
  entry.signature = describeSignature(hexadecimal(lineOf(key, "signature")));
}

CacheEntry describe(const CacheDirectory& directory, const CacheDirectory::File& file) {
  CacheEntry entry;
  entry.file = file.name;
  entry.bytes = file.bytes;
  entry.used = file.used;
  std::string content;
  llvm::Expected<bool> there = directory.read(file.name, content);
  if (!there) {
    entry.problem = llvm::toString(there.takeError());
    return entry;
  }
  llvm::Expected<CachedObject> object = decode(content);
  if (!object) {
    entry.problem = llvm::toString(object.takeError());
    return entry;
  }
  nameSubject(object->key, entry);
  if (cacheFileName(object->key) != file.name) {
    entry.problem = "its name is not its key's";
    return entry;
  }
  const bool ours = !processKey().empty() && llvm::StringRef(object->key).starts_with(processKey());
  entry.state = ours ? CacheEntry::State::kUsable : CacheEntry::State::kOther;
  if (!ours) entry.problem = otherProcess(object->key);
  return entry;
}

CacheDirectory openOrThrow(const std::string& path) {
  llvm::Expected<CacheDirectory> directory = CacheDirectory::open(path, /*create=*/false);
  if (!directory) throw Error("the disk cache in '" + path + "': " + llvm::toString(directory.takeError()));
  return std::move(*directory);
}

}  // namespace

std::optional<CacheDirectory> ThunkCache::open(const std::string& directory) {
  if (path_ != directory) {
    path_ = directory;
    opens_ = writes_ = {};
    stores_ = 0;
  }
  if (!opens_.allowed()) return std::nullopt;
  llvm::Expected<CacheDirectory> opened = CacheDirectory::open(directory, /*create=*/true);
  if (opened) {
    opens_.succeeded();
    return std::move(*opened);
  }
  const std::string why = llvm::toString(opened.takeError());
  if (opens_.failed())
    shunt::detail::log(loudness(), "there is no disk cache in " + directory + ", code is compiled: " + why);
  return std::nullopt;
}

ThunkCache::Found ThunkCache::find(const std::string& directory, const std::string& key) {
  Found found;
  const std::optional<CacheDirectory> in = open(directory);
  if (!in) return found;
  const std::string name = cacheFileName(key);
  const auto reject = [&](std::string why, bool remove) {
    found.answer = CacheAnswer::kRejected;
    found.problem = name + ": " + std::move(why);
    if (remove) in->remove(name);
    return std::move(found);
  };
  std::string content;
  llvm::Expected<bool> there = in->read(name, content);
  if (!there) return reject(llvm::toString(there.takeError()), /*remove=*/false);
  if (!*there) return found;
  llvm::Expected<CachedObject> object = decode(content);
  if (!object) return reject(llvm::toString(object.takeError()), /*remove=*/true);
  if (object->key != key) return reject("its key is another one", /*remove=*/true);
  if (!internAll(*object)) return reject("its constants are not this process's", /*remove=*/true);
  found.answer = CacheAnswer::kLoaded;
  found.object = std::move(*object);
  return found;
}

void ThunkCache::store(const std::string& directory, const CachedObject& object) noexcept try {
  const std::optional<CacheDirectory> in = open(directory);
  if (!in || !writes_.allowed()) return;
  const std::string file = encode(object);
  if (file.size() > kMostCachedBytes) return;
  if (stores_++ % kStoresPerTrim == 0) in->trim(cache_limit());  // first: what is left over may be what fills the disk
  llvm::Error error = in->write(cacheFileName(object.key), file);
  if (!error) return writes_.succeeded();
  const std::string why = llvm::toString(std::move(error));
  if (writes_.failed()) shunt::detail::log(loudness(), "the disk cache in " + directory + " gets no more code: " + why);
} catch (const std::exception&) {  // no memory to write it: the next process compiles
}

std::vector<CacheEntry> ThunkCache::entries(const std::string& path) {
  const CacheDirectory directory = openOrThrow(path);
  std::vector<CacheEntry> out;
  for (const CacheDirectory::File& file : directory.files())
    if (llvm::StringRef(file.name).ends_with(kCacheSuffix)) out.push_back(describe(directory, file));
  return out;
}

size_t ThunkCache::clear(const std::string& path) {
  const CacheDirectory directory = openOrThrow(path);
  size_t removed = 0;
  for (const CacheDirectory::File& file : directory.files()) {
    const llvm::StringRef name = file.name;
    if (!name.ends_with(kCacheSuffix) && !name.starts_with(CacheDirectory::kUnfinished)) continue;
    directory.remove(file.name);
    ++removed;
  }
  return removed;
}

std::optional<NamedLiterals> literalsOf(const llvm::Module& module) {
  NamedLiterals out;
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.getName().starts_with(literals::kPrefix) || variable.use_empty()) continue;
    if (!addLiteral(variable.getName().str(), out)) return std::nullopt;
  }
  return out;
}

}  // namespace shunt::jit
