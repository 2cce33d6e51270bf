#include "src/compile/host/host_specs.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace shunt::compiled {

HostSpec completed(HostSpec spec, const std::string& what) {
  SHUNT_CHECK(isSupportedType(spec.dtype), what, ": dtype ", spec.dtype, " is not supported");
  SHUNT_CHECK(std::ranges::all_of(spec.sizes, [](int64_t n) { return n >= 0; }), what, ": sizes ",
              IntArrayRef(spec.sizes), ": expected none below 0");
  if (spec.strides.empty()) {
    spec.strides.assign(spec.sizes.size(), 1);
    for (size_t d = spec.sizes.size(); d-- > 1;)
      spec.strides[d - 1] = spec.strides[d] * std::max<int64_t>(spec.sizes[d], 1);
  }
  SHUNT_CHECK(spec.strides.size() == spec.sizes.size(), what, ": ", spec.sizes.size(), " sizes and ",
              spec.strides.size(), " strides");
  SHUNT_CHECK(std::ranges::all_of(spec.strides, [](int64_t n) { return n >= 0; }) && spec.offset >= 0, what,
              ": strides ", IntArrayRef(spec.strides), ", offset ", spec.offset, ": expected none below 0");
  const auto size = static_cast<int64_t>(elementSize(spec.dtype));
  const int64_t bytes = detail::storageBytes(what.c_str(), spec.sizes, spec.strides, size);
  SHUNT_CHECK(spec.offset <= (std::numeric_limits<int64_t>::max() - bytes) / size, what, ": offset ", spec.offset,
              " is too large");
  return spec;
}

int64_t numelOf(const HostSpec& spec) {
  return std::accumulate(spec.sizes.begin(), spec.sizes.end(), int64_t{1}, std::multiplies<>());
}

size_t bytesOf(const HostSpec& spec) {
  if (numelOf(spec) == 0) return 0;
  int64_t last = spec.offset;
  for (size_t d = 0; d < spec.sizes.size(); ++d) last += (spec.sizes[d] - 1) * spec.strides[d];
  return static_cast<size_t>(last + 1) * static_cast<size_t>(elementSize(spec.dtype));
}

HostSpec hostSpecOf(const Graph::Spec& spec) { return {spec.dtype, spec.sizes, spec.strides, spec.offset}; }

Graph::Spec graphSpecOf(const HostSpec& spec) {
  return {.dtype = spec.dtype, .sizes = spec.sizes, .strides = spec.strides, .offset = spec.offset};
}

std::string textOf(const HostSpec& spec) {
  return detail::str(dtypeName(spec.dtype), IntArrayRef(spec.sizes), " with strides ", IntArrayRef(spec.strides),
                     " at offset ", spec.offset);
}

bool showsTheSame(const HostSpec& a, const HostSpec& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  if (numelOf(a) == 0) return true;
  if (a.offset != b.offset) return false;
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

}  // namespace shunt::compiled
