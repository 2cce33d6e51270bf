// The other side of exchange.py: the same arrays, the same two commands.
#include <shunt/shunt.h>

#include <shunt/files/files.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace shunt;
using Tensors = std::map<std::string, Tensor>;

const std::map<std::string, std::string> kMetadata = {{"format", "np"}, {"größe", "a \"quoted\"\n日本語"}, {"", ""}};
constexpr ScalarType kDtypes[] = {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBFloat16};
const std::vector<std::vector<int64_t>> kShapes = {{},        {0}, {7}, {2, 3}, {3, 0, 2}, {2, 3, 4}, {1, 1, 1, 1, 5},
                                                   {200, 300}};

Tensor expected(ScalarType dtype, IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  const Tensor i = arange(n, kLong).mul(37).remainder(101);
  Tensor flat = i.sub(50);
  if (dtype == kBool) flat = i.remainder(3).eq(0);
  if (dtype == kByte) flat = i;
  if (isFloatingType(dtype)) flat = flat.to(kDouble).div(4);
  return flat.to(dtype).reshape(sizes).clone();
}

int check(const Tensors& tensors, const std::string& path) {
  for (const auto& [name, t] : tensors) {
    const Tensor mine = t.contiguous(), want = expected(t.dtype(), t.sizes());
    if (t.numel() != 0 && std::memcmp(mine.data_ptr(), want.data_ptr(), want.nbytes()) != 0)
      throw std::runtime_error(path + ": '" + name + "' differs");
  }
  return static_cast<int>(tensors.size());
}

Tensors read(const std::string& path) {
  if (path.ends_with(".npy")) return {{"", load_npy(path)}};
  if (path.ends_with("good-all.safetensors") && load_metadata(path) != kMetadata)
    throw std::runtime_error(path + ": other metadata");
  return load(path);
}

int checkAll(const std::string& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with("good-")) {
      count += check(read(path), path);
      continue;
    }
    try {
      read(path);
    } catch (const Error& e) {
      std::fprintf(stderr, "%s\n", e.what());
      continue;
    }
    throw std::runtime_error(path + " was read");
  }
  return count;
}

int writeAll(const std::string& folder) {
  Tensors all, without_bfloat16;
  int files = 0;
  for (const ScalarType dtype : kDtypes)
    for (const std::vector<int64_t>& sizes : kShapes) {
      const std::string name = detail::str(dtypeName(dtype), " ", IntArrayRef(sizes));
      Tensor t = expected(dtype, sizes);
      all.emplace(name, t);
      // Rows that lie as columns: saving puts them in order.
      if (sizes.size() == 2) all.emplace("größe/" + name, t = t.t().contiguous().t());
      if (dtype == kBFloat16) continue;
      save_npy(t, folder + "/" + std::to_string(files++) + ".npy");
    }
  for (const auto& [name, t] : all)
    if (t.dtype() != kBFloat16) without_bfloat16.emplace(name, t);
  save(all, folder + "/all.safetensors", kMetadata);
  save({}, folder + "/none.safetensors");
  save(without_bfloat16, folder + "/all.npz");
  save({}, folder + "/none.npz");
  return static_cast<int>(all.size() + without_bfloat16.size()) + files;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::runtime_error("usage: files_exchange write|check FOLDER");
    std::printf("%d\n", argv[1] == std::string_view("write") ? writeAll(argv[2]) : checkAll(argv[2]));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "files_exchange: %s\n", e.what());
    return 1;
  }
}
