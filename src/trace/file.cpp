// Graph::save and load: header | JSON | storages of the constants.
#include <shunt/core/tls.h>
#include <shunt/ops.h>
#include <shunt/tensor/wrapper_kind.h>
#include <shunt/version.h>

#include "src/base/new_file.h"
#include "src/trace/json.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>

namespace shunt {
namespace {

using nlohmann::json;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t unused;
  uint64_t text_bytes, data_bytes;
  uint64_t checksum;  // of all that follows, and of the sizes
};
static_assert(sizeof(Header) == 40);
constexpr char kMagic[8] = {'S', 'H', 'U', 'N', 'T', 'G', 'R', 'F'};
constexpr uint32_t kVersion = trace_detail::kGraphVersion, kOldest = trace_detail::kOldestGraphVersion;

/// FNV-1a, for files that were damaged, not forged.
uint64_t checksumOf(std::span<const char> bytes, uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

uint64_t checksumOf(const Header& h, std::span<const char> rest) {
  uint64_t sizes[2] = {h.text_bytes, h.data_bytes};
  return checksumOf(rest, checksumOf({reinterpret_cast<const char*>(sizes), sizeof sizes}));
}

// ---- saving -------------------------------------------------------------------------------------------------------
void checkConstant(const Graph::Value& v) {
  const Tensor& t = v.constant;
  const char* why = whyNoData(t);
  SHUNT_CHECK(why == nullptr && t.is_cpu(), "Graph::save: constant %", v.id, " can't be saved: it is ",
              why != nullptr ? why : "a tensor of another device than the CPU");
  SHUNT_CHECK(!t.requires_grad() || t.is_leaf(), "Graph::save: constant %", v.id,
              " can't be saved: it requires grad and is not a leaf; capture a detached tensor, or make it an input");
}

/// The storages one behind the other, each from a multiple of 64 on, and where: by Graph::Value::storage.
std::string dataOf(const Graph& graph, json& places) {
  std::string data;
  std::map<int64_t, bool> seen;
  for (const Graph::Value* v : graph.constants()) {
    checkConstant(*v);
    if (std::exchange(seen[v->storage], true)) continue;
    const Storage& storage = v->constant.storage();
    data.resize((data.size() + 63) / 64 * 64);
    places.push_back({{"storage", v->storage}, {"at", data.size()}, {"bytes", storage->nbytes()}});
    if (storage->nbytes() != 0) data.append(reinterpret_cast<const char*>(storage->data()), storage->nbytes());
  }
  return data;
}

void writeFile(const std::string& path, const Header& header, const std::string& rest) {
  detail::NewFile file({"Graph::save", path});
  file.write(&header, sizeof header);
  file.write(rest);
  file.commit();
}

// ---- loading ------------------------------------------------------------------------------------------------------
void checkVersion(uint32_t version) {
  SHUNT_CHECK(version <= kVersion, "is of version ", version, ", of a newer Shunt; this one, ", SHUNT_VERSION,
              ", reads versions ", kOldest, " to ", kVersion,
              ". Load it with the Shunt that saved it or a newer one, or trace the function again with this one");
  SHUNT_CHECK(version >= kOldest, "is of version ", version, ", which no Shunt writes: it is damaged");
}

std::string readFile(const std::string& path, Header& header) {
  std::error_code error, ignored;
  const uint64_t size = std::filesystem::file_size(path, error);
  const auto status = std::filesystem::status(path, ignored);
  SHUNT_CHECK(!exists(status) || is_regular_file(status) || is_directory(status), "is no regular file");
  SHUNT_CHECK(!error, "can't be read: ", error.message());
  std::ifstream in(path, std::ios::binary);
  SHUNT_CHECK(in, "can't be opened");
  SHUNT_CHECK(size >= sizeof header && in.read(reinterpret_cast<char*>(&header), sizeof header) &&
                  std::memcmp(header.magic, kMagic, sizeof kMagic) == 0,
              "is not a graph that Graph::save() wrote");
  checkVersion(header.version);
  const uint64_t rest = size - sizeof header;
  SHUNT_CHECK(header.text_bytes <= rest && header.data_bytes == rest - header.text_bytes,
              "is cut off or has grown: its header says that ", header.text_bytes, " bytes of text and ",
              header.data_bytes, " of tensors follow, and ", rest, " bytes follow");
  std::string bytes(rest, '\0');
  SHUNT_CHECK(in.read(bytes.data(), static_cast<std::streamsize>(rest)), "can't be read to its end");
  SHUNT_CHECK(checksumOf(header, bytes) == header.checksum, "is damaged: its checksum is wrong");
  return bytes;
}

/// The constants' storages, made when first asked for.
class Storages {
 public:
  Storages(const json& places, std::span<const char> data) : data_(data) {
    for (const json& j : places) {
      const Place place{j.at("at").get<uint64_t>(), j.at("bytes").get<uint64_t>(), {}};
      SHUNT_CHECK(place.at <= data.size() && place.bytes <= data.size() - place.at, "is damaged: a storage at ",
                  place.at, " of ", place.bytes, " bytes, where there are ", data.size());
      places_[j.at("storage").get<int64_t>()] = place;
    }
  }

  Tensor tensorOf(const Graph::Value& v) {
    const auto found = places_.find(v.storage);
    SHUNT_CHECK(found != places_.end(), "is damaged: constant %", v.id, " has no storage");
    Place& place = found->second;
    const auto item = static_cast<int64_t>(elementSize(v.spec.dtype));
    const int64_t span = detail::storageBytes("Graph::load", v.spec.sizes, v.spec.strides, item);
    SHUNT_CHECK(v.spec.device.is_cpu() && static_cast<uint64_t>(v.spec.offset) <= place.bytes &&
                    (span == 0 || static_cast<uint64_t>(span + v.spec.offset * item) <= place.bytes),
                "is damaged: constant %", v.id, " reaches beyond its storage of ", place.bytes, " bytes");
    if (!place.storage.defined()) {
      const Tensor bytes(detail::makeCpuTensor({static_cast<int64_t>(place.bytes)}, {}, kByte));
      if (place.bytes != 0) std::memcpy(bytes.data_ptr(), data_.data() + place.at, place.bytes);
      place.storage = bytes.storage();
    }
    auto impl = make_intrusive<TensorImpl>(place.storage, keySetFor(kCPU), v.spec.dtype);
    impl->set_sizes_and_strides(v.spec.sizes, v.spec.strides, v.spec.offset);
    impl->set_wrapped_number(v.spec.wrapped_number);
    const Tensor t(std::move(impl));
    if (v.spec.requires_grad) t.set_requires_grad(true);
    return t;
  }

 private:
  struct Place {
    uint64_t at, bytes;
    Storage storage;
  };
  std::span<const char> data_;
  std::map<int64_t, Place> places_;
};

Graph read(const std::string& path) {
  Header header;
  const std::string bytes = readFile(path, header);
  const std::span<const char> all(bytes);
  const json text = json::parse(all.begin(), all.begin() + static_cast<ptrdiff_t>(header.text_bytes));
  Storages storages(text.at("storages"), all.subspan(header.text_bytes));
  return trace_detail::fromJson(text, [&](const Graph::Value& v) { return storages.tensorOf(v); });
}

}  // namespace

void Graph::save(const std::string& path) const {
  json text = trace_detail::toJson(*this);
  text["storages"] = json::array();
  const std::string data = dataOf(*this, text["storages"]);
  const std::string rest = text.dump();
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.text_bytes = rest.size();
  header.data_bytes = data.size();
  const std::string all = rest + data;
  header.checksum = checksumOf(header, all);
  writeFile(path, header, all);
}

Graph Graph::load(const std::string& path) {
  const InferenceMode normal(false);  // constants are normal tensors
  const ExcludeDispatchKeyGuard below({DispatchKey::Tracer, DispatchKey::Functionalize, DispatchKey::Fake});
  const auto fail = [&](const char* what) { throw Error("Graph::load: '" + path + "': " + what); };
  try {
    return read(path);
  } catch (const json::exception& e) {
    fail(e.what());
  } catch (const Error& e) {
    fail(e.what());
  }
  __builtin_unreachable();
}

}  // namespace shunt
