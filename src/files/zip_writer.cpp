#include "src/files/zip_writer.h"

#include "src/files/bytes.h"
#include "src/files/zip_format.h"

#include <zlib.h>

#include <algorithm>

namespace shunt::files {
namespace {

using namespace zip;

constexpr uint16_t kTime = 0, kDate = 0x21;  // 1980-01-01, the first there is

uint32_t field32(uint64_t n) { return static_cast<uint32_t>(std::min<uint64_t>(n, kIn64)); }

/// The extra field with those of the numbers that have no room elsewhere; empty where all have.
std::string extra64(std::initializer_list<uint64_t> numbers) {
  std::string wide;
  for (const uint64_t n : numbers)
    if (n >= kIn64) append(wide, n);
  if (wide.empty()) return wide;
  std::string out;
  append(out, kExtra64);
  append(out, static_cast<uint16_t>(wide.size()));
  return out + wide;
}

bool isAscii(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

ZipHeaders zipHeaders(const std::string& name, uint32_t crc, uint64_t size, uint64_t at) {
  const std::string local_extra = size >= kIn64 ? extra64({size, size}) : "";
  const std::string central_extra = extra64({size, size, at});
  const uint16_t version = central_extra.empty() ? kVersion : kVersion64;
  std::string common;  // from the version that it takes to the length of the name
  append(common, version);
  append(common, isAscii(name) ? uint16_t{0} : kFlagUtf8);
  append(common, kStored);
  append(common, kTime);
  append(common, kDate);
  append(common, crc);
  append(common, field32(size));
  append(common, field32(size));
  append(common, static_cast<uint16_t>(name.size()));
  ZipHeaders out;
  append(out.local, kLocal);
  out.local += common;
  append(out.local, static_cast<uint16_t>(local_extra.size()));
  out.local += name + local_extra;
  append(out.central, kCentral);
  append(out.central, version);  // made by
  out.central += common;
  append(out.central, static_cast<uint16_t>(central_extra.size()));
  append(out.central, uint16_t{0});  // comment
  append(out.central, uint16_t{0});  // disk
  append(out.central, uint16_t{0});  // internal attributes
  append(out.central, uint32_t{0});  // external attributes
  append(out.central, field32(at));
  out.central += name + central_extra;
  return out;
}

std::string zipEnd(uint64_t entries, uint64_t directory_bytes, uint64_t directory_at) {
  std::string out;
  if (entries >= kIn64Short || directory_bytes >= kIn64 || directory_at >= kIn64) {
    append(out, kEnd64);
    append(out, uint64_t{kEnd64Bytes - 12});
    append(out, kVersion64);
    append(out, kVersion64);
    append(out, uint32_t{0});  // disk
    append(out, uint32_t{0});  // the directory's disk
    append(out, entries);
    append(out, entries);
    append(out, directory_bytes);
    append(out, directory_at);
    append(out, kLocator64);
    append(out, uint32_t{0});  // the record's disk
    append(out, directory_at + directory_bytes);
    append(out, uint32_t{1});  // disks
  }
  const auto entries16 = static_cast<uint16_t>(std::min<uint64_t>(entries, kIn64Short));
  append(out, kEnd);
  append(out, uint16_t{0});
  append(out, uint16_t{0});
  append(out, entries16);
  append(out, entries16);
  append(out, field32(directory_bytes));
  append(out, field32(directory_at));
  append(out, uint16_t{0});  // comment
  return out;
}

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> parts) {
  uint64_t size = 0;
  uLong crc = 0;
  for (const auto& part : parts) {
    size += part.size();
    if (part.empty()) continue;  // for a null pointer zlib begins anew
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
  }
  const ZipHeaders headers = zipHeaders(name, static_cast<uint32_t>(crc), size, file_.size());
  file_.write(headers.local);
  for (const auto& part : parts) file_.write(part.data(), part.size());
  directory_ += headers.central;
  ++entries_;
}

void ZipWriter::finish() {
  const uint64_t at = file_.size();
  file_.write(directory_);
  file_.write(zipEnd(entries_, directory_.size(), at));
}

}  // namespace shunt::files
