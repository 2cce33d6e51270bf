#include "src/files/npy.h"

#include "src/files/bytes.h"
#include "src/files/npy_header.h"

#include <algorithm>

namespace shunt::files {
namespace {

constexpr uint64_t kMostDict = uint64_t{1} << 20;  // of 64 dimensions and a dtype it is some hundred bytes

/// Reads up to the elements. `left`: the bytes that follow.
NpyHeader readHeader(const AboutTensor& about, ByteSource& source, uint64_t& left) {
  left = source.size();
  const auto take = [&](size_t n) {
    if (n > left)
      about.fail("is cut off in its header, of which ", n, " more bytes were expected, and ", left, " follow");
    std::string bytes(n, '\0');
    source.read(bytes.data(), n);
    left -= n;
    return bytes;
  };
  const std::string begin = take(std::min<uint64_t>(8, left));
  if (!begin.starts_with(kNpyMagic.substr(0, std::min(begin.size(), kNpyMagic.size()))) || begin.empty())
    about.fail("is not .npy data: it begins with ", shown(begin),
               begin.starts_with("PK") ? ", as .npz files do: load() reads those" : "");
  if (begin.size() < 8) about.fail("is cut off after ", begin.size(), " bytes");
  const auto version = static_cast<unsigned char>(begin[6]), minor = static_cast<unsigned char>(begin[7]);
  if (version < 1 || version > 3 || minor != 0)
    about.fail("is of version ", int{version}, ".", int{minor}, ", and versions 1.0, 2.0 and 3.0 are known");
  const uint64_t length = version == 1 ? numberAt<uint16_t>(take(2), 0) : numberAt<uint32_t>(take(4), 0);
  if (length > left) about.fail("is cut off: its header has ", length, " bytes, and ", left, " follow");
  if (length > kMostDict) about.fail("has a header of ", length, " bytes, and at most ", kMostDict, " are read");
  return parseNpyDict(about, take(length));
}

Sizes fortranStrides(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (size_t d = 1; d < sizes.size(); ++d) strides[d] = strides[d - 1] * std::max<int64_t>(sizes[d - 1], 1);
  return strides;
}

void swapBytes(std::byte* data, size_t bytes, size_t item) {
  for (std::byte* p = data; p != data + bytes; p += item) std::reverse(p, p + item);
}

}  // namespace

Tensor readNpy(const AboutTensor& about, ByteSource& source) {
  uint64_t left = 0;
  const NpyHeader header = readHeader(about, source, left);
  const uint64_t bytes = bytesOf(about, header.sizes, header.dtype);
  if (bytes != left)
    about.fail(bytes > left ? "is cut off: " : "has grown, or holds more than one array: ", "shape ",
               IntArrayRef(header.sizes), " of ", dtypeName(header.dtype), " takes ", bytes, " bytes, and ", left,
               " follow the header");
  Tensor out =
      newTensor(about, header.sizes, header.fortran_order ? fortranStrides(header.sizes) : Sizes(), header.dtype);
  auto* const data = static_cast<std::byte*>(out.unsafeGetTensorImpl()->data());
  source.read(data, bytes);
  source.finish();
  if (header.big_endian) swapBytes(data, bytes, static_cast<size_t>(elementSize(header.dtype)));
  if (header.dtype == kBool) checkBools(about, data, bytes);
  return out;
}

}  // namespace shunt::files
