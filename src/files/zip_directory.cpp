#include "src/files/zip_directory.h"

#include "src/files/bytes.h"
#include "src/files/zip_format.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>

namespace shunt::files {
namespace {

using namespace zip;
using detail::AboutFile;
using detail::InputFile;
using detail::shown;

/// What an entry's record in the directory says.
struct Central {
  ZipEntry entry;
  uint16_t flags = 0, method = 0;
  uint64_t local = 0;  // where its local header begins
};

struct Directory {
  uint64_t entries = 0, bytes = 0, at = 0;
};

std::string readBytes(const InputFile& file, uint64_t at, uint64_t n) {
  std::string bytes(n, '\0');
  file.read(at, bytes.data(), n);
  return bytes;
}

/// Where the last record begins, whose comment ends with the file.
uint64_t findEnd(const InputFile& file) {
  constexpr uint64_t kMostComment = 0xffff;
  const uint64_t most = std::min(file.size(), kEndBytes + kMostComment);
  const std::string tail = readBytes(file, file.size() - most, most);
  for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;)
    if (numberAt<uint32_t>(tail, at) == kEnd && numberAt<uint16_t>(tail, at + 20) == tail.size() - at - kEndBytes)
      return file.size() - most + at;
  file.about().fail("is not an .npz file, or it is cut off or has grown: expected a zip directory at its end");
}

/// A number of the last record, or of the zip64 one where the field has no room.
template <class Short>
uint64_t choose(const AboutFile& about, Short field, uint64_t in64) {
  if (field != std::numeric_limits<Short>::max() && field != in64)
    about.fail("is damaged: its zip directory and the zip64 record differ");
  return in64;
}

/// `end`: where the last record begins; becomes where the directory must end.
Directory findDirectory(const InputFile& file, uint64_t& end) {
  const AboutFile& about = file.about();
  const std::string last = readBytes(file, end, kEndBytes);
  const auto disk = numberAt<uint16_t>(last, 4), its_disk = numberAt<uint16_t>(last, 6);
  const auto here = numberAt<uint16_t>(last, 8), all = numberAt<uint16_t>(last, 10);
  const auto bytes = numberAt<uint32_t>(last, 12), at = numberAt<uint32_t>(last, 16);
  if (disk != its_disk || here != all || (disk != 0 && disk != kIn64Short))
    about.fail("is one of several parts of an archive");
  const bool may_be_64 = end >= kLocator64Bytes + kEnd64Bytes;
  const std::string locator =
      may_be_64 ? readBytes(file, end - kLocator64Bytes, kLocator64Bytes) : std::string(4, '\0');
  if (numberAt<uint32_t>(locator, 0) != kLocator64) {
    if (all == kIn64Short || bytes == kIn64 || at == kIn64) about.fail("is damaged: its zip64 record is missing");
    return {all, bytes, at};
  }
  const auto at64 = numberAt<uint64_t>(locator, 8);
  const uint64_t end64 = end - kLocator64Bytes;
  if (at64 > end64 - kEnd64Bytes) about.fail("is damaged: its zip64 record is said to be at byte ", at64);
  const std::string record = readBytes(file, at64, kEnd64Bytes);
  if (numberAt<uint32_t>(record, 0) != kEnd64 || numberAt<uint64_t>(record, 4) != end64 - at64 - 12)
    about.fail("is damaged: there is no zip64 record at byte ", at64);
  if (numberAt<uint64_t>(record, 24) != numberAt<uint64_t>(record, 32) || numberAt<uint32_t>(record, 16) != 0)
    about.fail("is one of several parts of an archive");
  end = at64;
  return {choose(about, all, numberAt<uint64_t>(record, 32)), choose(about, bytes, numberAt<uint64_t>(record, 40)),
          choose(about, at, numberAt<uint64_t>(record, 48))};
}

/// Takes the numbers of 64 bits, in their order, for the fields that have no room.
void readExtra64(const AboutFile& about, const std::string& name, std::string_view extra,
                 std::initializer_list<uint64_t*> fields) {
  std::vector<uint64_t*> wanted;
  for (uint64_t* f : fields)
    if (*f == kIn64) wanted.push_back(f);
  if (wanted.empty()) return;
  while (extra.size() >= 4) {
    const auto id = numberAt<uint16_t>(extra, 0), bytes = numberAt<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (bytes > extra.size()) break;
    if (id != kExtra64) {
      extra.remove_prefix(bytes);
      continue;
    }
    if (bytes < 8 * wanted.size()) break;
    for (size_t i = 0; i < wanted.size(); ++i) *wanted[i] = numberAt<uint64_t>(extra, 8 * i);
    return;
  }
  about.fail("is damaged: entry ", shown(name), " has no zip64 sizes");
}

void checkEntry(const AboutFile& about, const Central& c) {
  const ZipEntry& e = c.entry;
  // A match of 258 bytes takes 2 bits at least.
  constexpr uint64_t kMostRatio = 1032;
  if (e.name.find('\0') != std::string::npos) about.fail("the name ", shown(e.name), " has a zero byte");
  if (!detail::isUtf8(e.name)) about.fail("the name ", shown(e.name), " is not UTF-8");
  if ((c.flags & kFlagEncrypted) != 0) about.fail("entry ", shown(e.name), " is encrypted");
  if (c.method != kStored && c.method != kDeflated)
    about.fail("entry ", shown(e.name), " is packed by method ", c.method,
               ", and 0 (stored) and 8 (deflated) are known");
  if (c.method == kStored && e.packed != e.size)
    about.fail("is damaged: entry ", shown(e.name), " is stored in ", e.packed, " bytes, and has ", e.size);
  if (c.method == kDeflated && e.size / kMostRatio > e.packed)
    about.fail("is damaged: entry ", shown(e.name), " is said to have ", e.size, " bytes, more than deflated data of ",
               e.packed, " can be");
}

std::vector<Central> readRecords(const AboutFile& about, std::string_view bytes, uint64_t count) {
  std::vector<Central> out;
  std::set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes.size() < kCentralBytes || numberAt<uint32_t>(bytes, 0) != kCentral)
      about.fail("is damaged: its zip directory has no record ", i, " of ", count);
    Central c;
    c.flags = numberAt<uint16_t>(bytes, 8);
    c.method = numberAt<uint16_t>(bytes, 10);
    c.entry.deflated = c.method == kDeflated;
    c.entry.crc = numberAt<uint32_t>(bytes, 16);
    c.entry.packed = numberAt<uint32_t>(bytes, 20);
    c.entry.size = numberAt<uint32_t>(bytes, 24);
    const size_t name = numberAt<uint16_t>(bytes, 28), extra = numberAt<uint16_t>(bytes, 30);
    const size_t comment = numberAt<uint16_t>(bytes, 32);
    c.local = numberAt<uint32_t>(bytes, 42);
    if (bytes.size() - kCentralBytes < name + extra + comment)
      about.fail("is damaged: record ", i, " of its zip directory is cut off");
    c.entry.name = bytes.substr(kCentralBytes, name);
    readExtra64(about, c.entry.name, bytes.substr(kCentralBytes + name, extra),
                {&c.entry.size, &c.entry.packed, &c.local});
    checkEntry(about, c);
    if (!names.insert(bytes.substr(kCentralBytes, name)).second)
      about.fail("the name ", shown(c.entry.name), " occurs twice");
    out.push_back(std::move(c));
    bytes.remove_prefix(kCentralBytes + name + extra + comment);
  }
  if (!bytes.empty()) about.fail("is damaged: its zip directory has ", bytes.size(), " bytes beyond its records");
  return out;
}

/// Reads the local header, and sets where the data begins. `limit`: where the next one begins.
void readLocal(const InputFile& file, Central& c, uint64_t limit) {
  const AboutFile& about = file.about();
  ZipEntry& e = c.entry;
  const auto differs = [&](const char* what) {
    about.fail("is damaged: entry ", shown(e.name), " and the zip directory differ in ", what);
  };
  if (limit - c.local < kLocalBytes) differs("where it begins");
  const std::string header = readBytes(file, c.local, kLocalBytes);
  if (numberAt<uint32_t>(header, 0) != kLocal) differs("where it begins");
  const size_t name = numberAt<uint16_t>(header, 26), extra = numberAt<uint16_t>(header, 28);
  if (limit - c.local - kLocalBytes < name + extra) differs("its length");
  const std::string rest = readBytes(file, c.local + kLocalBytes, name + extra);
  if (std::string_view(rest).substr(0, name) != e.name) differs("its name");
  constexpr uint16_t kFlags = kFlagEncrypted | kFlagDescriptor | kFlagUtf8;
  if (((numberAt<uint16_t>(header, 6) ^ c.flags) & kFlags) != 0 || numberAt<uint16_t>(header, 8) != c.method)
    differs("how it is packed");
  if ((c.flags & kFlagDescriptor) == 0) {
    uint64_t packed = numberAt<uint32_t>(header, 18), size = numberAt<uint32_t>(header, 22);
    readExtra64(about, e.name, std::string_view(rest).substr(name), {&size, &packed});
    if (numberAt<uint32_t>(header, 14) != e.crc) differs("its checksum");
    if (packed != e.packed || size != e.size) differs("its size");
  }
  e.at = c.local + kLocalBytes + name + extra;
  if (limit - e.at < e.packed) differs("its size");
}

/// Whether the bytes between data and what follows are the descriptor of an entry that was written as a stream: a
/// signature or none, sizes of 32 or 64 bits.
bool isDescriptor(std::string_view bytes, const ZipEntry& e) {
  std::string known[4];
  for (size_t i = 0; i < 4; ++i) {
    if ((i & 1) != 0) append(known[i], kDescriptor);
    append(known[i], e.crc);
    for (const uint64_t n : {e.packed, e.size})
      if ((i & 2) != 0)
        append(known[i], n);
      else
        append(known[i], static_cast<uint32_t>(n));
  }
  return std::find(std::begin(known), std::end(known), bytes) != std::end(known);
}

/// The entries lie one behind the other, from the first byte of the file to its directory.
void readLocals(const InputFile& file, std::vector<Central>& records, uint64_t directory) {
  constexpr uint64_t kMostDescriptor = 24;
  uint64_t filled = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    Central& c = records[i];
    const uint64_t limit = i + 1 < records.size() ? records[i + 1].local : directory;
    const std::string name = shown(c.entry.name);
    if (c.local != filled)
      file.about().fail("is damaged: entry ", name, " begins at byte ", c.local, ", not at ", filled);
    if (limit < c.local || limit > directory)
      file.about().fail("is damaged: entry ", name, " reaches beyond byte ", limit);
    readLocal(file, c, limit);
    filled = c.entry.at + c.entry.packed;
    const uint64_t gap = limit - filled;
    const bool streamed = (c.flags & kFlagDescriptor) != 0;
    if (streamed ? gap > kMostDescriptor || !isDescriptor(readBytes(file, filled, gap), c.entry) : gap != 0)
      file.about().fail("is damaged: ", gap, " bytes from byte ", filled, " on, after entry ", name,
                        streamed ? ", are not its size and checksum" : ", belong to no entry");
    filled = limit;
  }
  if (filled != directory)
    file.about().fail("is damaged: bytes from ", filled, " to ", directory, " belong to no entry");
}

}  // namespace

std::vector<ZipEntry> readZipDirectory(const InputFile& file) {
  const AboutFile& about = file.about();
  uint64_t end = findEnd(file);
  const Directory directory = findDirectory(file, end);
  if (directory.bytes > end || directory.at != end - directory.bytes)
    about.fail("is damaged: its zip directory is said to have ", directory.bytes, " bytes from byte ", directory.at,
               ", and ends at ", end);
  const std::string bytes = readBytes(file, directory.at, directory.bytes);
  std::vector<Central> records = readRecords(about, bytes, directory.entries);
  std::sort(records.begin(), records.end(), [](const Central& a, const Central& b) {
    return std::tie(a.local, a.entry.name) < std::tie(b.local, b.entry.name);
  });
  readLocals(file, records, directory.at);
  std::vector<ZipEntry> out;
  for (Central& c : records) out.push_back(std::move(c.entry));
  return out;
}

}  // namespace shunt::files
