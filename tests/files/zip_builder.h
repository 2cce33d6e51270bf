// Zip archives as other programs write them: deflated, as a stream, zip64, with comments; and damaged ones.
#pragma once

#include "tests/files/samples.h"

#include <zlib.h>

#include <stdexcept>

namespace shunt::test {

struct ZipOptions {
  bool deflate = false;
  bool descriptor = false;  // sizes and checksum behind the data
  bool signature = true;    // of the descriptor
  bool zip64 = false;       // in every place that can have it
  std::string comment;
};

inline std::string deflated(const std::string& data) {
  z_stream z{};
  if (deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("deflate");
  std::string out(deflateBound(&z, data.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

class ZipBuilder {
 public:
  explicit ZipBuilder(ZipOptions options = {}) : options_(std::move(options)) {}

  ZipBuilder& add(const std::string& name, const std::string& data) {
    const std::string packed = options_.deflate ? deflated(data) : data;
    const uint64_t crc = crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
    return addPacked(name, packed, crc, data.size(), options_.deflate ? 8 : 0);
  }
  /// What the records say, whether it is true or not.
  ZipBuilder& addPacked(const std::string& name, const std::string& packed, uint64_t crc, uint64_t size, int method,
                        int flags = 0) {
    flags |= options_.descriptor ? 8 : 0;
    const bool wide = options_.zip64;
    const auto sizes = [&](int bytes) { return littleEndian(packed.size(), bytes) + littleEndian(size, bytes); };
    const auto header = [&](uint64_t its_crc, const std::string& its_sizes, const std::string& extra) {
      return littleEndian(wide ? 45 : 20, 2) + littleEndian(static_cast<uint64_t>(flags), 2) +
             littleEndian(static_cast<uint64_t>(method), 2) + littleEndian(0x00210000, 4) + littleEndian(its_crc, 4) +
             its_sizes + littleEndian(name.size(), 2) + littleEndian(extra.size(), 2);
    };
    const std::string none(8, '\xff');
    const uint64_t at = bytes_.size();
    const std::string extra = !wide
                                  ? ""
                                  : littleEndian(1, 2) + littleEndian(16, 2) +
                                        (options_.descriptor ? std::string(16, '\0')
                                                             : littleEndian(size, 8) + littleEndian(packed.size(), 8));
    const bool later = options_.descriptor;
    bytes_ += "PK\3\4" +
              header(later ? 0 : crc,
                     wide    ? none
                     : later ? std::string(8, '\0')
                             : sizes(4),
                     extra) +
              name + extra;
    bytes_ += packed;
    if (later) bytes_ += (options_.signature ? "PK\7\10" : "") + littleEndian(crc, 4) + sizes(wide ? 8 : 4);
    const std::string extra_too = !wide ? ""
                                        : littleEndian(0x7075, 2) + littleEndian(3, 2) + "abc" + littleEndian(1, 2) +
                                              littleEndian(24, 2) + littleEndian(size, 8) +
                                              littleEndian(packed.size(), 8) + littleEndian(at, 8);
    directory_ += "PK\1\2" + littleEndian(45, 2) + header(crc, wide ? none : sizes(4), extra_too) +
                  littleEndian(0, 10) + (wide ? littleEndian(0xffffffff, 4) : littleEndian(at, 4)) + name + extra_too;
    ++entries_;
    return *this;
  }

  std::string bytes() const {
    const uint64_t at = bytes_.size(), n = directory_.size();
    std::string out = bytes_ + directory_;
    if (options_.zip64)
      out += "PK\6\6" + littleEndian(44, 8) + littleEndian(45, 2) + littleEndian(45, 2) + littleEndian(0, 8) +
             littleEndian(entries_, 8) + littleEndian(entries_, 8) + littleEndian(n, 8) + littleEndian(at, 8) +
             "PK\6\7" + littleEndian(0, 4) + littleEndian(at + n, 8) + littleEndian(1, 4);
    const uint64_t entries = options_.zip64 ? 0xffff : entries_;
    return out + "PK\5\6" + littleEndian(0, 4) + littleEndian(entries, 2) + littleEndian(entries, 2) +
           littleEndian(options_.zip64 ? 0xffffffff : n, 4) + littleEndian(options_.zip64 ? 0xffffffff : at, 4) +
           littleEndian(options_.comment.size(), 2) + options_.comment;
  }

 private:
  ZipOptions options_;
  std::string bytes_, directory_;
  uint64_t entries_ = 0;
};

}  // namespace shunt::test
