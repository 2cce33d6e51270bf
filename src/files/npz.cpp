// The .npz format: a zip archive with an entry name.npy for each tensor, as NumPy's savez writes it.
#include "src/files/format.h"
#include "src/files/loaded.h"
#include "src/files/npy.h"
#include "src/files/npy_header.h"
#include "src/files/zip_directory.h"
#include "src/files/zip_entry.h"
#include "src/files/zip_writer.h"

#include <array>

namespace shunt::files {
namespace {

using detail::InputFile;
using detail::NewFile;

constexpr std::string_view kSuffix = ".npy";
constexpr size_t kMostName = 0xffff;

void check(const AboutFile& about, const std::vector<Savable>& tensors, const Metadata& metadata) {
  if (!metadata.empty())
    about.fail("an .npz file has no place for metadata; save it as .safetensors, or the metadata elsewhere");
  for (const Savable& s : tensors) {
    checkNpyDtype(s.about(about), s.tensor->dtype());
    if (s.name->size() + kSuffix.size() > kMostName) s.about(about).fail("has a name of ", s.name->size(), " bytes");
  }
}

void saveTo(NewFile& file, const std::vector<Savable>& tensors, const Metadata&) {
  ZipWriter zip(file);
  for (const Savable& s : tensors) {
    const std::string prefix = npyPrefix(s.tensor->sizes(), s.tensor->dtype());
    const Elements elements(*s.tensor);
    zip.add(*s.name + std::string(kSuffix), std::array{std::as_bytes(std::span(prefix)), elements.bytes()});
  }
  zip.finish();
}

Tensors loadFrom(const InputFile& file) {
  Tensors out;
  for (const ZipEntry& entry : readZipDirectory(file)) {
    if (entry.name.ends_with('/') && entry.size == 0) continue;  // a folder
    if (!entry.name.ends_with(kSuffix))
      file.about().fail("entry ", shown(entry.name), " is not an array: names of arrays end with ", kSuffix);
    const std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    ZipEntryBytes bytes(file, entry);
    out.emplace(name, given(readNpy({file.about(), &name}, bytes)));
  }
  return out;
}

}  // namespace

const Format kNpz = {".npz", &check, &saveTo, &loadFrom, [](const InputFile& file) {
                       readZipDirectory(file);
                       return Metadata();
                     }};

}  // namespace shunt::files
