#include "src/files/zip_entry.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace shunt::files {

struct ZipEntryBytes::Inflater {
  z_stream stream{};
  Bytef packed[1 << 16];
  bool ended = false;
};

ZipEntryBytes::ZipEntryBytes(const detail::InputFile& file, const ZipEntry& entry) : file_(file), entry_(entry) {
  if (!entry.deflated) return;
  inflater_ = std::make_unique<Inflater>();
  constexpr int kRaw = -MAX_WBITS;  // without zlib's own header
  if (inflateInit2(&inflater_->stream, kRaw) != Z_OK) file.about().fail("no memory to inflate with");
}

ZipEntryBytes::~ZipEntryBytes() {
  if (inflater_) inflateEnd(&inflater_->stream);
}

void ZipEntryBytes::damaged(const char* why) const {
  file_.about().fail("is damaged: entry ", detail::shown(entry_.name), ": ", why);
}

size_t ZipEntryBytes::inflateSome(void* to, size_t n) {
  z_stream& z = inflater_->stream;
  const auto room = static_cast<uInt>(std::min<size_t>(n, std::numeric_limits<uInt>::max()));
  z.next_out = static_cast<Bytef*>(to);
  z.avail_out = room;
  while (!inflater_->ended && z.avail_out == room) {
    if (z.avail_in == 0) {
      const size_t part = std::min<uint64_t>(sizeof inflater_->packed, entry_.packed - packed_read_);
      if (part == 0) damaged("its data is cut off");
      file_.read(entry_.at + packed_read_, inflater_->packed, part);
      packed_read_ += part;
      z.next_in = inflater_->packed;
      z.avail_in = static_cast<uInt>(part);
    }
    const int status = inflate(&z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      damaged(z.msg != nullptr ? z.msg : "it can't be inflated");
    inflater_->ended = status == Z_STREAM_END;
  }
  return room - z.avail_out;
}

void ZipEntryBytes::read(void* to, size_t n) {
  auto* out = static_cast<Bytef*>(to);
  while (n != 0) {
    size_t got = n;
    if (inflater_) {
      got = inflateSome(out, n);
      if (got == 0) damaged("its data ends before its size");
    } else {
      file_.read(entry_.at + packed_read_, out, n);
      packed_read_ += n;
    }
    crc_ = crc32_z(crc_, out, got);
    out += got;
    n -= got;
  }
}

void ZipEntryBytes::finish() {
  if (inflater_) {
    Bytef beyond = 0;  // the mark of the end may not have been read yet
    if (inflateSome(&beyond, 1) != 0) damaged("its data goes on behind its size");
    if (inflater_->stream.avail_in != 0 || packed_read_ != entry_.packed)
      damaged("its data ends before its packed size");
  }
  if (crc_ != entry_.crc) damaged("its checksum (CRC-32) is wrong");
}

}  // namespace shunt::files
