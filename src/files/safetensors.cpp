// The .safetensors format: the header (safetensors_header.h), then the tensors' elements, little-endian and row-major.
#include "src/files/format.h"
#include "src/files/loaded.h"
#include "src/files/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <limits>

namespace shunt::files {
namespace {

using detail::InputFile;
using detail::NewFile;

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

constexpr size_t kLengthBytes = 8;

// ---- saving -------------------------------------------------------------------------------------------------------
void check(const AboutFile& about, const std::vector<Savable>& tensors, const Metadata& metadata) {
  for (const Savable& s : tensors)
    if (*s.name == "__metadata__")
      about.fail("a tensor can't be named __metadata__: the format has its metadata there");
  for (const auto& [key, value] : metadata) {
    if (!detail::isUtf8(key)) about.fail("the metadata's key ", shown(key), " is not UTF-8");
    if (!detail::isUtf8(value)) about.fail("the metadata's text of ", shown(key), " is not UTF-8: ", shown(value));
  }
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::string metadataText(const Metadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata)
    text.append(text.empty() ? "" : ",").append(quoted(key)).append(":").append(quoted(value));
  return "\"__metadata__\":{" + text + "}";
}

std::string entryText(const Savable& s, uint64_t begin) {
  std::string shape;
  for (const int64_t n : s.tensor->sizes()) shape.append(shape.empty() ? "" : ",").append(std::to_string(n));
  return quoted(*s.name) + ":{\"dtype\":\"" + std::string(safetensorsName(s.tensor->dtype())) + "\",\"shape\":[" +
         shape + "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(begin + s.tensor->nbytes()) +
         "]}";
}

// The largest elements first, and a header of a multiple of 8 bytes: so each tensor is aligned for its dtype.
void saveTo(NewFile& file, const std::vector<Savable>& tensors, const Metadata& metadata) {
  std::vector<Savable> order = tensors;
  std::sort(order.begin(), order.end(), [](const Savable& a, const Savable& b) {
    const int64_t item = a.tensor->itemsize(), other = b.tensor->itemsize();
    return item != other ? item > other : *a.name < *b.name;
  });
  std::string text = metadata.empty() ? "" : metadataText(metadata);
  uint64_t begin = 0;
  for (const Savable& s : order) {
    text.append(text.empty() ? "" : ",").append(entryText(s, begin));
    begin += s.tensor->nbytes();
  }
  text = "{" + text + "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  if (length > kMostHeaderBytes)
    file.about().fail("names, shapes and metadata take ", length, " bytes, and the format's limit is ",
                      kMostHeaderBytes);
  file.write(&length, sizeof length);
  file.write(text);
  for (const Savable& s : order) {
    const Elements elements(*s.tensor);
    file.write(elements.bytes().data(), elements.bytes().size());
  }
}

// ---- loading ------------------------------------------------------------------------------------------------------
struct Read {
  SafetensorsHeader header;
  uint64_t data;  // where the elements begin
};

Read readHeader(const InputFile& file) {
  const AboutFile& about = file.about();
  uint64_t length = 0;
  if (file.size() < kLengthBytes)
    about.fail("is not a .safetensors file: it has ", file.size(), " bytes, expected at least ", kLengthBytes);
  file.read(0, &length, sizeof length);
  const uint64_t rest = file.size() - kLengthBytes;
  if (length > rest)
    about.fail("is cut off, or not a .safetensors file: its first 8 bytes say that a header of ", length,
               " bytes follows, but ", rest, " bytes follow");
  if (length > kMostHeaderBytes)
    about.fail("has a header of ", length, " bytes, and the format's limit is ", kMostHeaderBytes);
  std::string text(length, '\0');
  file.read(kLengthBytes, text.data(), text.size());
  return {parseSafetensorsHeader(about, text, rest - length), kLengthBytes + length};
}

/// Looks at the bytes in the file: what is mapped could be cut off meanwhile.
void checkBoolsIn(const InputFile& file, const AboutTensor& about, uint64_t at, uint64_t n) {
  std::byte part[1 << 14];
  for (uint64_t done = 0; done < n; done += sizeof part) {
    const size_t size = std::min<uint64_t>(sizeof part, n - done);
    file.read(at + done, part, size);
    checkBools(about, part, size, done);
  }
}

Tensors loadFrom(const InputFile& file) {
  const auto [header, data] = readHeader(file);
  const auto mapping = header.tensors.empty() ? nullptr : file.map();
  Tensors out;
  for (const auto& [name, e] : header.tensors) {
    const AboutTensor about{file.about(), &name};
    const uint64_t at = data + e.begin;
    const auto bytes = static_cast<size_t>(e.end - e.begin);
    if (e.dtype == kBool) checkBoolsIn(file, about, at, bytes);
    if (bytes == 0 || at % static_cast<uint64_t>(elementSize(e.dtype)) != 0) {
      const Tensor copy = newTensor(about, e.sizes, {}, e.dtype);
      file.read(at, copy.unsafeGetTensorImpl()->data(), bytes);
      out.emplace(name, given(copy));
      continue;
    }
    const auto keep = [mapping](void*) {};
    out.emplace(name, given(from_blob(mapping->data() + at, e.sizes, keep, e.dtype)));
  }
  return out;
}

}  // namespace

const Format kSafetensors = {".safetensors", &check, &saveTo, &loadFrom,
                             [](const InputFile& file) { return readHeader(file).header.metadata; }};

}  // namespace shunt::files
