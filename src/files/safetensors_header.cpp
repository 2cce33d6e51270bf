#include "src/files/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace shunt::files {
namespace {

using Entry = SafetensorsHeader::Entry;

constexpr std::array<std::pair<ScalarType, std::string_view>, 10> kDtypes = {{{kBool, "BOOL"},
                                                                              {kByte, "U8"},
                                                                              {kChar, "I8"},
                                                                              {kShort, "I16"},
                                                                              {kInt, "I32"},
                                                                              {kLong, "I64"},
                                                                              {kHalf, "F16"},
                                                                              {kBFloat16, "BF16"},
                                                                              {kFloat, "F32"},
                                                                              {kDouble, "F64"}}};

std::string knownNames() {
  std::string names;
  for (const auto& [dtype, name] : kDtypes) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

constexpr std::string_view kMetadata = "__metadata__";

/// Takes the parser's events: nothing is kept but the header, and depth costs nothing.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(const AboutFile& about) : about_(about) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool null() override {
    if (where_ != Where::kMetadata) return other("null");
    where_ = Where::kTop;
    return true;
  }
  bool boolean(bool) override { return other("a boolean"); }
  bool number_integer(int64_t n) override { return other("the number ", n); }
  bool number_float(double, const std::string& text) override { return other("the number ", shown(text, 40)); }
  bool binary(binary_t&) override { return other("binary data"); }
  bool number_unsigned(uint64_t n) override {
    if (!in_list_) return other("the number ", n);
    if (where_ == Where::kOffsets) {
      if (offsets_ == 2) tensor().fail("data_offsets has more than 2 numbers");
      (offsets_++ == 0 ? entry_->begin : entry_->end) = n;
      return true;
    }
    if (entry_->sizes.size() == kMostDimensions) tensor().fail("has more than ", kMostDimensions, " dimensions");
    if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      tensor().fail("has a shape with a dimension of ", n, ", more than 63 bits can count");
    entry_->sizes.push_back(static_cast<int64_t>(n));
    return true;
  }
  bool string(std::string& text) override {
    if (where_ == Where::kMetadataValue) {
      header_.metadata.at(name_) = std::move(text);
      where_ = Where::kMetadataKey;
      return true;
    }
    if (where_ != Where::kDtype) return other("the text ", shown(text, 40));
    const auto dtype = dtypeOfSafetensors(text);
    if (!dtype) tensor().fail("has dtype ", shown(text, 40), ", and Shunt has ", knownNames());
    entry_->dtype = *dtype;
    where_ = Where::kField;
    return true;
  }

  bool key(std::string& text) override {
    if (where_ == Where::kTop) return topKey(text);
    if (where_ == Where::kField) return fieldKey(text);
    if (where_ != Where::kMetadataKey) return true;  // of something unknown
    if (!header_.metadata.try_emplace(text).second) about_.fail("the metadata has the key ", shown(text), " twice");
    name_ = std::move(text);
    where_ = Where::kMetadataValue;
    return true;
  }

  bool start_object(size_t) override {
    if (where_ == Where::kStart)
      where_ = Where::kTop;
    else if (where_ == Where::kEntry)
      where_ = Where::kField;
    else if (where_ == Where::kMetadata)
      where_ = Where::kMetadataKey;
    else
      return enter("an object");
    return true;
  }
  bool end_object() override {
    if (where_ == Where::kUnknown) return leave();
    if (where_ == Where::kField) checkFields();
    where_ = where_ == Where::kTop ? Where::kEnd : Where::kTop;
    return true;
  }
  bool start_array(size_t) override {
    if (in_list_ || (where_ != Where::kShape && where_ != Where::kOffsets)) return enter("a list");
    return in_list_ = true;
  }
  bool end_array() override {
    if (where_ == Where::kUnknown) return leave();
    if (where_ == Where::kOffsets && offsets_ != 2) tensor().fail("data_offsets has fewer than 2 numbers");
    in_list_ = false;
    where_ = Where::kField;
    return true;
  }

  bool parse_error(size_t at, const std::string&, const nlohmann::json::exception& e) override {
    about_.fail("the header is not JSON, at its byte ", at, ": ", shown(e.what(), 300));
  }

 private:
  /// What comes next.
  enum class Where {
    kStart,
    kTop,
    kMetadata,
    kMetadataKey,
    kMetadataValue,
    kEntry,
    kField,
    kDtype,
    kShape,
    kOffsets,
    kUnknown,  // the value of a field that a later version of the format may have
    kEnd
  };

  AboutTensor tensor() const { return {about_, &name_}; }

  /// A value that stands for itself, where none belongs unless it is unknown.
  template <class... Found>
  bool other(const Found&... found) {
    if (where_ != Where::kUnknown) wrong(detail::str(found...));
    if (depth_ == 0) where_ = Where::kField;
    return true;
  }
  bool enter(const char* found) {
    if (where_ != Where::kUnknown) wrong(found);
    ++depth_;
    return true;
  }
  bool leave() {
    if (--depth_ == 0) where_ = Where::kField;
    return true;
  }

  [[noreturn]] void wrong(const std::string& found) const {
    const auto fail = [&](const char* expected) { tensor().fail("expected ", expected, ", found ", found); };
    switch (where_) {
      case Where::kMetadata:
        about_.fail("__metadata__: expected an object of texts, found ", found);
      case Where::kMetadataValue:
        about_.fail("__metadata__: expected a text for ", shown(name_), ", found ", found);
      case Where::kEntry:
        fail("an object with dtype, shape and data_offsets");
        break;
      case Where::kDtype:
        fail("the name of a dtype");
        break;
      case Where::kShape:
        fail(in_list_ ? "a whole number of 0 or more in its shape" : "a list of numbers as its shape");
        break;
      case Where::kOffsets:
        fail(in_list_ ? "a whole number of 0 or more in data_offsets" : "a list of 2 numbers as data_offsets");
        break;
      default:
        break;
    }
    about_.fail("the header: expected an object of tensors, found ", found);
  }

  bool topKey(std::string& text) {
    if (text == kMetadata) {
      if (std::exchange(has_metadata_, true)) about_.fail("the header has ", kMetadata, " twice");
      where_ = Where::kMetadata;
      return true;
    }
    if (text.find('\0') != std::string::npos) about_.fail("the name ", shown(text), " has a zero byte");
    const auto [at, is_new] = header_.tensors.try_emplace(text);
    if (!is_new) about_.fail("the name ", shown(text), " occurs twice");
    name_ = std::move(text);
    entry_ = &at->second;
    fields_ = {};
    offsets_ = 0;
    where_ = Where::kEntry;
    return true;
  }

  bool fieldKey(const std::string& text) {
    const auto* const at = std::find(kFields.begin(), kFields.end(), text);
    const auto i = static_cast<size_t>(at - kFields.begin());
    where_ = at == kFields.end() ? Where::kUnknown : kWheres[i];
    if (where_ != Where::kUnknown && std::exchange(fields_[i], true)) tensor().fail("has ", text, " twice");
    return true;
  }
  void checkFields() const {
    for (size_t i = 0; i < kFields.size(); ++i)
      if (!fields_[i]) tensor().fail("has no ", kFields[i]);
  }

  static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};
  static constexpr std::array<Where, 3> kWheres = {Where::kDtype, Where::kShape, Where::kOffsets};

  const AboutFile& about_;
  SafetensorsHeader header_;
  Where where_ = Where::kStart;
  std::string name_;  // of the tensor or the metadata's text that is read
  Entry* entry_ = nullptr;
  std::array<bool, 3> fields_{};
  int offsets_ = 0;
  bool in_list_ = false, has_metadata_ = false;
  size_t depth_ = 0;  // in something unknown
};

void checkEntry(const AboutTensor& about, const Entry& e, uint64_t data_bytes) {
  if (e.begin > e.end) about.fail("data_offsets [", e.begin, ", ", e.end, "] end before they begin");
  if (e.end > data_bytes)
    about.fail("data_offsets [", e.begin, ", ", e.end, "] reach beyond the file, which has ", data_bytes,
               " bytes after the header");
  const uint64_t bytes = bytesOf(about, e.sizes, e.dtype);
  if (bytes != e.end - e.begin)
    about.fail("shape ", IntArrayRef(e.sizes), " of ", safetensorsName(e.dtype), " takes ", bytes,
               " bytes, and data_offsets [", e.begin, ", ", e.end, "] are ", e.end - e.begin);
}

void checkPlaces(const AboutFile& about, const SafetensorsHeader& header, uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, Entry>*> order;
  for (const auto& named : header.tensors) {
    checkEntry({about, &named.first}, named.second, data_bytes);
    order.push_back(&named);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::tie(a->second.begin, a->second.end, a->first) < std::tie(b->second.begin, b->second.end, b->first);
  });
  uint64_t filled = 0;
  const std::string* before = nullptr;
  for (const auto* named : order) {
    const auto& [name, e] = *named;
    if (e.begin < filled)
      about.fail("tensors ", shown(*before), " and ", shown(name), " overlap: one ends at byte ", filled,
                 " of the data, and the other begins at ", e.begin);
    if (e.begin > filled)
      AboutTensor{about, &name}.fail("begins at byte ", e.begin, " of the data, and bytes from ", filled,
                                     " on are no tensor's");
    filled = e.end;
    before = &name;
  }
  if (filled != data_bytes)
    about.fail("has ", data_bytes, " bytes after the header, and its tensors end at ", filled, ": has it grown?");
}

}  // namespace

std::string_view safetensorsName(ScalarType dtype) {
  const auto* const at = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.first == dtype; });
  return at == kDtypes.end() ? std::string_view() : at->second;
}

std::optional<ScalarType> dtypeOfSafetensors(std::string_view name) {
  const auto* const at = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.second == name; });
  return at == kDtypes.end() ? std::nullopt : std::optional(at->first);
}

SafetensorsHeader parseSafetensorsHeader(const AboutFile& about, std::string_view text, uint64_t data_bytes) {
  if (!text.starts_with('{'))
    about.fail("is not a .safetensors file: its header begins with ", shown(text.substr(0, 8)), " instead of '{'");
  // The parser would take one for the end.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    about.fail("the header is not JSON: its byte ", zero, " is a zero");
  Reader reader(about);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  checkPlaces(about, header, data_bytes);
  return header;
}

}  // namespace shunt::files
