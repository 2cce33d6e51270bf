// Tensors in files: safetensors and NumPy's formats, what loading shares with the file, and what is refused.
//
//   files [safetensors | numpy | mapped | refused | damaged]
#include <shunt/shunt.h>

#include "examples/parts.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

namespace {

namespace fs = std::filesystem;
using examples::show;
using shunt::Tensor;

/// A folder that is removed at the end of a part.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("shunt_files_example_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string operator/(const char* name) const { return (path / name).string(); }
};

std::string errorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const shunt::Error& e) {
    return e.what();
  }
  return "";
}

/// Shows the error, without the folder.
void refused(const Folder& folder, const std::function<void()>& f, const char* expected) {
  std::string message = errorOf(f);
  const std::string prefix = folder.path.string() + "/";
  for (size_t at = 0; (at = message.find(prefix)) != std::string::npos;) message.erase(at, prefix.size());
  if (message.find(expected) == std::string::npos) std::cout << "expected '" << expected << "' in: ";
  show(message.find(expected) != std::string::npos, message);
}

void safetensors() {
  const Folder folder;
  const Tensor w = shunt::randn({4, 3}), b = shunt::arange(4).to(shunt::kBFloat16);
  shunt::save({{"hidden.weight", w.t()}, {"hidden.bias", b}}, folder / "w.safetensors", {{"epoch", "20"}});
  const auto tensors = shunt::load(folder / "w.safetensors");
  show(tensors.at("hidden.weight").equal(w.t()) && tensors.at("hidden.weight").is_contiguous(),
       "a transposed matrix: the same elements, in row-major order");
  show(tensors.at("hidden.bias").scalar_type() == shunt::kBFloat16, "bfloat16 stays bfloat16");
  show(shunt::load_metadata(folder / "w.safetensors").at("epoch") == "20", "metadata: epoch 20");
}

void numpy() {
  const Folder folder;
  const Tensor x = shunt::randn({2, 5}), n = shunt::arange(3);
  shunt::save({{"x", x}, {"n", n}}, folder / "x.npz");
  const auto arrays = shunt::load(folder / "x.npz");
  show(arrays.size() == 2 && arrays.at("x").equal(x) && arrays.at("n").equal(n), "npz: two arrays, the same elements");
  shunt::save_npy(x, folder / "x.npy");
  show(shunt::load_npy(folder / "x.npy").equal(x), "npy: one array, the same elements");
}

void mapped() {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  shunt::save({{"w", shunt::ones({1000})}}, path);
  Tensor w = shunt::load(path).at("w");
  w.mul_(2);
  show(shunt::load(path).at("w").equal(shunt::ones({1000})), "a write to a loaded tensor doesn't change the file");
  shunt::save({{"w", w}}, path);  // replaces the file by a rename
  show(shunt::load(path).at("w").equal(w), "a loaded tensor can be saved to its own file");
  fs::remove(path);
  show(w.sum().item<float>() == 2000, "the tensor outlives the file");
}

void refusals() {
  const Folder folder;
  const Tensor w = shunt::zeros({4, 3});
  refused(folder, [&] { shunt::save({{"a", w}, {"b", w}}, folder / "w.safetensors"); }, "'a' and 'b'");
  shunt::save({{"a", w.narrow(0, 0, 2)}, {"b", w.narrow(0, 2, 2)}}, folder / "w.safetensors");  // nothing in common
  refused(folder, [&] { shunt::save({{"w", w.to(shunt::kBFloat16)}}, folder / "w.npz"); }, "bfloat16");
  refused(folder, [&] { shunt::save({{"w", w}}, folder / "w.npz", {{"epoch", "1"}}); }, "metadata");
  refused(folder, [&] { shunt::save({{"w", w}}, folder / "w.bin"); }, ".safetensors");
  refused(folder, [&] { shunt::load(folder / "none.npz"); }, "none.npz");
}

void damaged() {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  shunt::save({{"w", shunt::ones({1000})}}, path);
  fs::resize_file(path, fs::file_size(path) / 2);
  refused(folder, [&] { shunt::load(path); }, "w.safetensors");
  const std::string archive = folder / "x.npz";
  shunt::save({{"x", shunt::ones({100})}}, archive);
  {
    std::fstream file(archive, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(300);
    file.put('!');
  }
  refused(folder, [&] { shunt::load(archive); }, "CRC-32");
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "files",
                            {{"safetensors", safetensors},
                             {"numpy", numpy},
                             {"mapped", mapped},
                             {"refused", refusals},
                             {"damaged", damaged}});
}
