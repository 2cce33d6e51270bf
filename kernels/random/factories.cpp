// Factories of random tensors: rand, randn, randint, randperm, normal and bernoulli: an empty tensor, drawn into in
// place.
#include "generated/native_functions.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/view_util.h"
#include "kernels/random/draw.h"

#include <shunt/core/tls.h>
#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>

#include <numeric>

namespace shunt::native {

namespace {

using OptGenerator = std::optional<Generator>;

struct Options {
  std::optional<ScalarType> dtype;
  std::optional<Layout> layout;
  std::optional<Device> device;
  std::optional<bool> pin_memory;
};

ScalarType floatingType(std::optional<ScalarType> dtype) { return dtype ? *dtype : get_default_dtype(); }

Tensor below(Tensor t, auto&& draw) {
  AutoDispatchBelowAutograd guard;
  draw(t);
  return t;
}

Tensor& drawOut(const char* op, IntArrayRef size, Tensor& out, auto&& draw) {
  implOf(out, op, "out");
  detail::checkedNumel(op, size);
  resizeOutput(out, size);
  AutoDispatchBelowAutograd guard;
  draw(out);
  return out;
}

Tensor randWith(IntArrayRef size, const OptGenerator& generator, const Options& o) {
  checkGenerator(o.device.value_or(kCPU), generator);
  return below(makeEmpty("rand", size, floatingType(o.dtype), o.layout, o.device, o.pin_memory),
               [&](Tensor& t) { t.uniform_(0, 1, generator); });
}

Tensor randnWith(IntArrayRef size, const OptGenerator& generator, const Options& o, double mean = 0, double std = 1) {
  checkGenerator(o.device.value_or(kCPU), generator);
  return below(makeEmpty("randn", size, floatingType(o.dtype), o.layout, o.device, o.pin_memory),
               [&](Tensor& t) { t.normal_(mean, std, generator); });
}

Tensor randintWith(int64_t low, int64_t high, IntArrayRef size, const OptGenerator& generator, const Options& o) {
  checkGenerator(o.device.value_or(kCPU), generator);
  return below(makeEmpty("randint", size, o.dtype.value_or(kLong), o.layout, o.device, o.pin_memory),
               [&](Tensor& t) { t.random_(low, high, generator); });
}

void checkPermutation(int64_t n, ScalarType dtype) {
  SHUNT_CHECK(n >= 0, "n must be non-negative, got ", n);
  if (dtype == kBool) ::shunt::detail::throwNotImplementedFor("randperm", dtype);
  const bool fits = dispatchAllTypes(dtype, "randperm", [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, int64_t>)
      return true;
    else if constexpr (std::is_integral_v<T>)
      return n <= static_cast<int64_t>(std::numeric_limits<T>::max());
    else
      return n <= int64_t{1} << std::numeric_limits<T>::digits;
  });
  SHUNT_CHECK(fits, "n is too large for result tensor type: '", dtype, "': n=", n);
}

}  // namespace

Tensor rand(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
            std::optional<Device> device, std::optional<bool> pin_memory) {
  return randWith(size, std::nullopt, {dtype, layout, device, pin_memory});
}

Tensor rand_generator(IntArrayRef size, std::optional<Generator> generator, std::optional<ScalarType> dtype,
                      std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  return randWith(size, generator, {dtype, layout, device, pin_memory});
}

Tensor& rand_generator_out(IntArrayRef size, std::optional<Generator> generator, Tensor& out) {
  return drawOut("rand", size, out, [&](Tensor& t) { t.uniform_(0, 1, generator); });
}

Tensor& rand_out(IntArrayRef size, Tensor& out) { return rand_generator_out(size, std::nullopt, out); }

Tensor rand_like(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory,
                 std::optional<MemoryFormat> memory_format) {
  implOf(self, "rand_like");
  return below(native::empty_like(self, dtype, layout, device, pin_memory, memory_format),
               [](Tensor& t) { t.uniform_(0, 1); });
}

Tensor randn(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
             std::optional<Device> device, std::optional<bool> pin_memory) {
  return randnWith(size, std::nullopt, {dtype, layout, device, pin_memory});
}

Tensor randn_generator(IntArrayRef size, std::optional<Generator> generator, std::optional<ScalarType> dtype,
                       std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  return randnWith(size, generator, {dtype, layout, device, pin_memory});
}

Tensor& randn_generator_out(IntArrayRef size, std::optional<Generator> generator, Tensor& out) {
  return drawOut("randn", size, out, [&](Tensor& t) { t.normal_(0, 1, generator); });
}

Tensor& randn_out(IntArrayRef size, Tensor& out) { return randn_generator_out(size, std::nullopt, out); }

Tensor randn_like(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory,
                  std::optional<MemoryFormat> memory_format) {
  implOf(self, "randn_like");
  return below(native::empty_like(self, dtype, layout, device, pin_memory, memory_format),
               [](Tensor& t) { t.normal_(0, 1); });
}

Tensor normal_float_float(double mean, double std, IntArrayRef size, std::optional<Generator> generator,
                          std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device,
                          std::optional<bool> pin_memory) {
  return randnWith(size, generator, {dtype, layout, device, pin_memory}, mean, std);
}

Tensor randint(int64_t high, IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
               std::optional<Device> device, std::optional<bool> pin_memory) {
  return randintWith(0, high, size, std::nullopt, {dtype, layout, device, pin_memory});
}

Tensor randint_generator(int64_t high, IntArrayRef size, std::optional<Generator> generator,
                         std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device,
                         std::optional<bool> pin_memory) {
  return randintWith(0, high, size, generator, {dtype, layout, device, pin_memory});
}

Tensor randint_low(int64_t low, int64_t high, IntArrayRef size, std::optional<ScalarType> dtype,
                   std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  return randintWith(low, high, size, std::nullopt, {dtype, layout, device, pin_memory});
}

Tensor randint_low_generator(int64_t low, int64_t high, IntArrayRef size, std::optional<Generator> generator,
                             std::optional<ScalarType> dtype, std::optional<Layout> layout,
                             std::optional<Device> device, std::optional<bool> pin_memory) {
  return randintWith(low, high, size, generator, {dtype, layout, device, pin_memory});
}

Tensor& randint_low_generator_out(int64_t low, int64_t high, IntArrayRef size, std::optional<Generator> generator,
                                  Tensor& out) {
  return drawOut("randint", size, out, [&](Tensor& t) { t.random_(low, high, generator); });
}

Tensor& randint_low_out(int64_t low, int64_t high, IntArrayRef size, Tensor& out) {
  return randint_low_generator_out(low, high, size, std::nullopt, out);
}

Tensor& randint_generator_out(int64_t high, IntArrayRef size, std::optional<Generator> generator, Tensor& out) {
  return randint_low_generator_out(0, high, size, generator, out);
}

Tensor& randint_out(int64_t high, IntArrayRef size, Tensor& out) {
  return randint_low_generator_out(0, high, size, std::nullopt, out);
}

Tensor randint_like(const Tensor& self, int64_t high, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                    std::optional<Device> device, std::optional<bool> pin_memory,
                    std::optional<MemoryFormat> memory_format) {
  return randint_like_low(self, 0, high, dtype, layout, device, pin_memory, memory_format);
}

Tensor randint_like_low(const Tensor& self, int64_t low, int64_t high, std::optional<ScalarType> dtype,
                        std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory,
                        std::optional<MemoryFormat> memory_format) {
  implOf(self, "randint_like");
  return below(native::empty_like(self, dtype, layout, device, pin_memory, memory_format),
               [&](Tensor& t) { t.random_(low, high, std::nullopt); });
}

Tensor randperm(int64_t n, std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  return randperm_generator(n, std::nullopt, dtype, layout, device, pin_memory);
}

Tensor randperm_generator(int64_t n, std::optional<Generator> generator, std::optional<ScalarType> dtype,
                          std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  SHUNT_CHECK(n >= 0, "n must be non-negative, got ", n);
  checkGenerator(device.value_or(kCPU), generator);
  return below(makeEmpty("randperm", n, dtype.value_or(kLong), layout, device, pin_memory),
               [&](Tensor& t) { shunt::randperm_out(t, n, generator); });
}

Tensor& randperm_out(int64_t n, Tensor& out) {
  AutoDispatchBelowAutograd guard;
  return shunt::randperm_out(out, n, std::optional<Generator>());
}

Tensor& randperm_generator_out_meta(int64_t n, std::optional<Generator> generator, Tensor& out) {
  checkGenerator(implOf(out, "randperm", "out").device(), generator);
  checkPermutation(n, implOf(out, "randperm", "out").dtype());
  resizeOutput(out, n);
  return out;
}

// Fisher and Yates, front to back: one draw of 64 bits for each element but the last.
Tensor& randperm_generator_out_cpu(int64_t n, std::optional<Generator> generator, Tensor& out) {
  const Generator& source = cpuGenerator(generator);
  randperm_generator_out_meta(n, std::nullopt, out);
  if (n == 0) return out;
  std::vector<uint64_t> draws(static_cast<size_t>(n));
  drawInto(draws.data(), n, source, drawWide<uint64_t>([](uint64_t bits) { return bits; }));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const auto rest = static_cast<unsigned __int128>(order.size() - i);
    std::swap(order[i], order[i + static_cast<size_t>((draws[i] * rest) >> 64)]);
  }
  size_t i = 0;
  dispatchAllTypes(out.dtype(), "randperm", [&]<class T>(std::type_identity<T>) {
    forEachElement<T>(*out.unsafeGetTensorImpl(), [&](T& v) { v = cast<T>(order[i++]); });
  });
  return out;
}

Tensor bernoulli(const Tensor& self, std::optional<Generator> generator) {
  implOf(self, "bernoulli");
  checkGenerator(self.device(), generator);
  return below(native::empty_like(self, {}, {}, {}, {}, MemoryFormat::Contiguous),
               [&](Tensor& t) { t.bernoulli_(self, generator); });
}

Tensor bernoulli_p(const Tensor& self, double p, std::optional<Generator> generator) {
  implOf(self, "bernoulli");
  checkGenerator(self.device(), generator);
  return below(native::empty_like(self, {}, {}, {}, {}, MemoryFormat::Contiguous),
               [&](Tensor& t) { t.bernoulli_(p, generator); });
}

Tensor bernoulli_tensor(const Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  implOf(self, "bernoulli");
  checkGenerator(self.device(), generator);
  return below(native::empty_like(self, {}, {}, {}, {}, {}), [&](Tensor& t) { t.bernoulli_(p, generator); });
}

Tensor& bernoulli_float_out(const Tensor& self, double p, std::optional<Generator> generator, Tensor& out) {
  implOf(self, "bernoulli");
  return drawOut("bernoulli", self.sizes(), out, [&](Tensor& t) { t.bernoulli_(p, generator); });
}

Tensor& bernoulli_out(const Tensor& self, std::optional<Generator> generator, Tensor& out) {
  implOf(self, "bernoulli");
  implOf(out, "bernoulli", "out");
  resizeOutputApart("bernoulli", out, self.sizes(), {&self});
  return drawOut("bernoulli", self.sizes(), out, [&](Tensor& t) { t.bernoulli_(self, generator); });
}

}  // namespace shunt::native
