// The public functions: which format, what may be saved, and the file around it.
#include <shunt/core/near_names.h>
#include <shunt/files/files.h>

#include "src/files/format.h"
#include "src/files/loaded.h"
#include "src/files/npy.h"
#include "src/files/npy_header.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <new>

namespace shunt {
namespace {

using namespace files;

constexpr std::array kFormats = {&kSafetensors, &kNpz};

const Format& formatOf(const AboutFile& about) {
  const std::string given = std::filesystem::path(about.path).extension().string();
  std::string extension = given, known;
  std::transform(given.begin(), given.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const Format* format : kFormats) {
    if (extension == format->extension) return *format;
    known.append(known.empty() ? "" : " or ").append(format->extension);
  }
  about.fail(given.empty() ? "the path has no extension" : "the extension " + shown(given) + " is not supported",
             ": expected ", known, extension == ".npy" ? "; save_npy() and load_npy() are for one array" : "");
}

std::vector<Savable> savables(const AboutFile& about, const Tensors& tensors) {
  std::vector<Savable> out;
  for (const auto& [name, tensor] : tensors) {
    if (!detail::isUtf8(name)) about.fail("the name ", shown(name), " is not UTF-8");
    if (name.find('\0') != std::string::npos) about.fail("the name ", shown(name), " has a zero byte");
    out.push_back({&name, &tensor});
    checkSavable(out.back().about(about), tensor);
  }
  checkUnshared(about, out);
  return out;
}

/// What `read` gives. A file may ask for more memory than there is, and that is an error of the file as any other.
template <class Read>
auto reading(const AboutFile& about, const Read& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    about.fail("there isn't enough memory to read it");
  }
}

}  // namespace

void save(const std::map<std::string, Tensor>& tensors, const std::string& path,
          const std::map<std::string, std::string>& metadata) {
  const AboutFile about{"save", path};
  refuseToBeRecorded(about);
  const Format& format = formatOf(about);
  const std::vector<Savable> all = savables(about, tensors);
  format.check(about, all, metadata);
  detail::NewFile file(about);
  format.save(file, all, metadata);
  file.commit();
}

std::map<std::string, Tensor> load(const std::string& path) {
  const AboutFile about{"load", path};
  refuseToBeRecorded(about);
  const Format& format = formatOf(about);
  return reading(about, [&] { return format.load(detail::InputFile(about)); });
}

Tensor tensor_named(const std::map<std::string, Tensor>& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return found->second;
  constexpr size_t kMostShown = 10;
  std::vector<std::string> names;
  for (const auto& [known, tensor] : tensors) names.push_back(known);
  std::string all = names.empty() ? "; the map is empty" : "; the names are ";
  for (size_t i = 0; i < std::min(names.size(), kMostShown); ++i) all += (i == 0 ? "" : ", ") + shown(names[i]);
  if (names.size() > kMostShown) all += detail::str(" and ", names.size() - kMostShown, " more");
  throw Error(detail::str("tensor_named: there is no tensor ", shown(name), all, detail::didYouMean(name, names)));
}

std::map<std::string, std::string> load_metadata(const std::string& path) {
  const AboutFile about{"load_metadata", path};
  refuseToBeRecorded(about);
  const Format& format = formatOf(about);
  return reading(about, [&] { return format.metadata(detail::InputFile(about)); });
}

void save_npy(const Tensor& tensor, const std::string& path) {
  const AboutFile about{"save_npy", path};
  refuseToBeRecorded(about);
  checkSavable({about, nullptr}, tensor);
  checkNpyDtype({about, nullptr}, tensor.dtype());
  detail::NewFile file(about);
  file.write(npyPrefix(tensor.sizes(), tensor.dtype()));
  const Elements elements(tensor);
  file.write(elements.bytes().data(), elements.bytes().size());
  file.commit();
}

Tensor load_npy(const std::string& path) {
  const AboutFile about{"load_npy", path};
  refuseToBeRecorded(about);
  return reading(about, [&] {
    const detail::InputFile file(about);
    FileBytes bytes(file);
    return given(readNpy({about, nullptr}, bytes));
  });
}

}  // namespace shunt
