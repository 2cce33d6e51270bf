#include "jit/cache/cache_file.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/xxhash.h>

#include <cstring>
#include <type_traits>

namespace shunt::jit {
namespace {

constexpr char kMagic[8] = {'s', 'h', 'u', 'n', 't', 'j', 'i', 't'};
constexpr uint32_t kVersion = 4;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t key, extras, object;  // bytes
  uint64_t checksum[2];
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) == 40);

llvm::XXH128_hash_t hashOf(llvm::StringRef bytes) { return llvm::xxh3_128bits(llvm::arrayRefFromStringRef(bytes)); }

/// Of the whole file, with zeros in the checksum's place.
llvm::XXH128_hash_t checksumOf(std::string& file) {
  std::memset(file.data() + offsetof(Header, checksum), 0, sizeof(Header::checksum));
  return hashOf(file);
}

class Writer {
 public:
  void number(uint64_t n) { out_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(llvm::StringRef s) {
    number(s.size());
    out_.append(s.data(), s.size());
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(llvm::StringRef bytes) : rest_(bytes) {}
  uint64_t number() {
    uint64_t n = 0;
    if (rest_.size() < sizeof n) return fail();
    std::memcpy(&n, rest_.data(), sizeof n);
    rest_ = rest_.drop_front(sizeof n);
    return n;
  }
  std::string text() {
    const uint64_t size = number();
    if (size > rest_.size()) return fail(), "";
    const llvm::StringRef s = rest_.take_front(size);
    rest_ = rest_.drop_front(size);
    return s.str();
  }
  /// A count of things that take at least `least` bytes each.
  uint64_t count(size_t least) {
    const uint64_t n = number();
    return n <= rest_.size() / least ? n : fail();
  }
  bool good() const { return good_; }
  bool atEnd() const { return rest_.empty(); }

 private:
  uint64_t fail() {
    good_ = false;
    rest_ = {};
    return 0;
  }
  llvm::StringRef rest_;
  bool good_ = true;
};

std::string encodeExtras(const CachedObject& object) {
  Writer w;
  w.number(object.worth_again);
  w.text(object.function);
  w.number(object.chains.size());
  for (const auto& [place, slots] : object.chains) {
    w.number(place);
    w.number(slots.size());
    for (uint64_t slot : slots) w.number(slot);
  }
  w.number(object.literals.size());
  for (const auto& [symbol, literal] : object.literals) {
    w.text(symbol);
    w.text(literal.bytes);
    w.number(literal.alignment);
    w.text(literal.identity);
    w.number(literal.pointers.size());
    for (const Literal::Pointer& p : literal.pointers) {
      w.number(p.offset);
      w.number(p.addend);
      w.text(p.symbol);
    }
  }
  return w.take();
}

bool decodeExtras(llvm::StringRef bytes, CachedObject& object) {
  Reader r(bytes);
  object.worth_again = r.number() != 0;
  object.function = r.text();
  object.chains.resize(r.count(2 * sizeof(uint64_t)));
  for (auto& [place, slots] : object.chains) {
    place = r.number();
    slots.resize(r.count(sizeof(uint64_t)));
    for (uint64_t& slot : slots) slot = r.number();
  }
  object.literals.resize(r.count(5 * sizeof(uint64_t)));
  for (auto& [symbol, literal] : object.literals) {
    symbol = r.text();
    literal.bytes = r.text();
    literal.alignment = r.number();
    literal.identity = r.text();
    literal.pointers.resize(r.count(3 * sizeof(uint64_t)));
    for (Literal::Pointer& p : literal.pointers) {
      p.offset = static_cast<uint32_t>(r.number());
      p.addend = r.number();
      p.symbol = r.text();
    }
    if (!r.good() || !llvm::isPowerOf2_64(literal.alignment) || literal.alignment > 4096) return false;
  }
  return r.good() && r.atEnd();
}

}  // namespace

std::string encode(const CachedObject& object) {
  const std::string extras = encodeExtras(object);
  Header header{{},
                kVersion,
                static_cast<uint32_t>(object.key.size()),
                static_cast<uint32_t>(extras.size()),
                static_cast<uint32_t>(object.object.size()),
                {}};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += object.key + extras + object.object;
  const llvm::XXH128_hash_t checksum = checksumOf(file);
  header.checksum[0] = checksum.low64;
  header.checksum[1] = checksum.high64;
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

llvm::Expected<CachedObject> decode(llvm::StringRef bytes) {
  Header header;
  if (bytes.size() < sizeof header) return llvm::createStringError("it is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return llvm::createStringError("it is no file of the cache");
  if (header.version != kVersion) return llvm::createStringError("its format is another version's");
  if (sizeof header + uint64_t{header.key} + header.extras + header.object != bytes.size())
    return llvm::createStringError("it is cut short, or too long");
  std::string copy = bytes.str();
  const llvm::XXH128_hash_t checksum = checksumOf(copy);
  if (checksum.low64 != header.checksum[0] || checksum.high64 != header.checksum[1])
    return llvm::createStringError("its checksum is wrong");
  const llvm::StringRef parts = bytes.drop_front(sizeof header);
  CachedObject object{parts.take_front(header.key).str(), {}, {}, parts.take_back(header.object).str(), false, {}};
  if (!decodeExtras(parts.substr(header.key, header.extras), object))
    return llvm::createStringError("its constants are not in order");
  return object;
}

std::string cacheFileName(llvm::StringRef key) {
  const llvm::XXH128_hash_t hash = hashOf(key);
  return llvm::utohexstr(hash.high64, true, 16) + llvm::utohexstr(hash.low64, true, 16) + kCacheSuffix.str();
}

}  // namespace shunt::jit
