#include "src/compile/worth/new_arguments.h"

#include "src/base/counted.h"
#include "src/base/demangled.h"
#include "src/compile/guards/call_kind.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <string_view>

namespace shunt::compiled {
namespace {

constexpr uint64_t kLeastCalls = 3;

/// The types between the outermost brackets.
std::vector<std::string_view> typesIn(std::string_view tuple) {
  std::vector<std::string_view> out;
  const size_t open = tuple.find('<');
  if (open == std::string_view::npos) return out;
  int depth = 0;
  for (size_t at = open + 1, begin = at; at < tuple.size(); ++at) {
    const bool is_end = depth == 0 && (tuple[at] == ',' || tuple[at] == '>');
    if (is_end) {
      std::string_view type = tuple.substr(begin, at - begin);
      while (type.starts_with(' ')) type.remove_prefix(1);
      out.push_back(type);
      begin = at + 1;
      if (tuple[at] == '>') break;
    }
    depth += tuple[at] == '<' ? 1 : tuple[at] == '>' ? -1 : 0;
  }
  return out;
}

bool isNumber(std::string_view type) {
  constexpr std::string_view kNumbers[] = {
      "bool",         "char", "signed char", "unsigned char", "short",     "int",    "unsigned short",
      "unsigned int", "long", "float",       "unsigned long", "long long", "double", "unsigned long long"};
  return std::ranges::find(kNumbers, type) != std::end(kNumbers);
}

}  // namespace

void NewArguments::note(const detail::CompileArguments& arguments, const CompileOptions& options) {
  std::vector<Place> now;
  const auto add = [&](Part part, size_t index, uint64_t value) { now.push_back({part, index, value}); };
  for (size_t i = 0; i < arguments.numbers.size(); ++i) add(Part::kNumber, i, arguments.numbers[i]);
  for (size_t i = 0; i < options.scalars.size(); ++i)
    add(Part::kScalar, i, std::bit_cast<uint64_t>(*options.scalars[i]));
  for (size_t i = 0; i < options.captures.size(); ++i)
    add(Part::kCapture, i, reinterpret_cast<uintptr_t>(options.captures[i]->unsafeGetTensorImpl()));
  for (size_t i = 0; i < arguments.tensors.size(); ++i) {
    const detail::CompileKind kind = kindOfTensor(*arguments.tensors[i]);
    add(Part::kSizes, i, kind.sizes);
    add(Part::kKind, i, kind.kind);
  }
  const auto isAlike = [](const Place& a, const Place& b) { return a.part == b.part && a.index == b.index; };
  const bool is_comparable =
      types_ != nullptr && *types_ == *arguments.types && std::ranges::equal(now, places_, isAlike);
  calls_ = is_comparable ? calls_ + 1 : 1;
  if (is_comparable)
    for (size_t i = 0; i < now.size(); ++i)
      now[i].times = places_[i].times + (now[i].value != places_[i].value ? 1 : 0);
  types_ = arguments.types;
  places_ = std::move(now);
}

std::string NewArguments::nameOfNumber(size_t index) const {
  const std::string tuple = detail::demangled(types_->name());
  const std::vector<std::string_view> types = typesIn(tuple);
  for (size_t i = 0, number = 0; i < types.size(); ++i) {
    if (isNumber(types[i]) && number++ == index) return detail::str("argument ", i, " (", types[i], ')');
    if (!isNumber(types[i]) && types[i] != "shunt::Tensor") break;  // a container counts its lengths, too
  }
  return detail::str("number ", index, " of the arguments (values, and lengths of containers)");
}

std::string NewArguments::describe(const Place& place) const {
  const std::string times = detail::str(" changed ", detail::counted(place.times, "time"), ": each ");
  switch (place.part) {
    case Part::kNumber:
      return nameOfNumber(place.index) + times +
             "value needs a graph, so pass a number that takes many values as a 0-dim tensor";
    case Part::kScalar:
      return detail::str("the number in CompileOptions::scalars[", place.index, ']') + times +
             "value needs a graph, so keep a number that takes many values in a 0-dim tensor";
    case Part::kCapture:
      return detail::str("the tensor in CompileOptions::captures[", place.index, ']') + times +
             "tensor needs a graph, so write into one tensor in place";
    case Part::kSizes:
      return detail::str("sizes or strides of tensor ", place.index, " of the arguments") + times +
             "size needs a graph, so use few sizes, for example by padding";
    case Part::kKind:
      return detail::str("dtype, device, layout or gradient settings of tensor ", place.index, " of the arguments") +
             times + "kind needs a graph";
  }
  return "";
}

std::string NewArguments::explain() const {
  const auto most = std::ranges::max_element(places_, {}, &Place::times);
  if (calls_ < kLeastCalls || most == places_.end() || 2 * most->times < calls_) return "";
  return detail::str(calls_, " calls had arguments that no call before had, and ", describe(*most), '\n');
}

}  // namespace shunt::compiled
