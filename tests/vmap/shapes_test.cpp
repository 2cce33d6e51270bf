// Views and their gradients, called as operators with arguments that no view gives them: vmap equals the loop.
#include "tests/vmap/util.h"

namespace shunt::test {
namespace {

using Sizes = std::vector<int64_t>;

// A part's gradient broadcasts to the part, not to the batch of it.
TEST(VmapShapes, GradientsOfPartsBroadcast) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> all = {
      {"select", [](const Tensor& t) { return ops::select_backward::call(t, {2, 3}, 0, 1); }},
      {"select of the last", [](const Tensor& t) { return ops::select_backward::call(t, {2, 3}, -1, 1); }},
      {"slice", [](const Tensor& t) { return ops::slice_backward::call(t, {4, 3}, 0, 1, 3, 1); }},
      {"slice with steps", [](const Tensor& t) { return ops::slice_backward::call(t, {2, 6}, -1, 0, 6, 2); }},
      {"slice of one dimension", [](const Tensor& t) { return ops::slice_backward::call(t, {6}, 0, 0, 6, 2); }},
      {"diagonal", [](const Tensor& t) { return ops::diagonal_backward::call(t, {3, 4}, 0, 0, 1); }},
      {"diagonal of three", [](const Tensor& t) { return ops::diagonal_backward::call(t, {3, 2, 4}, 0, 0, 2); }},
  };
  for (const auto& [name, backward] : all)
    for (const int64_t batch : {1, 2, 3})
      for (const Sizes& sizes : std::vector<Sizes>{{}, {1}, {2}, {3}, {2, 1}, {1, 3}, {2, 3}}) {
        Sizes in = sizes;
        in.push_back(batch);
        const Tensor x = randn(in);
        const auto dim = static_cast<int64_t>(sizes.size());
        const Function f = [&backward = backward](const Tensors& t) { return Tensors{backward(t[0])}; };
        Tensors expected, got;
        const std::string refused = errorOf([&] { expected = loop(f, {x}, {dim}); });
        const std::string error = errorOf([&] { got = vmapped(f, {x}, {dim}); });
        ASSERT_EQ(got.size(), expected.size())
            << name << IntArrayRef(sizes) << "\nvmap: " << error << "\nloop: " << refused;
        if (!got.empty()) EXPECT_TRUE(sameValues(got[0], expected[0])) << name << IntArrayRef(sizes) << got[0];
      }
}

TEST(VmapShapes, ABatchOfOneIsSeenAsAnotherDtypeWhateverItsStride) {
  const Function f = [](const Tensors& t) { return Tensors{ops::view_dtype::call(t[0], kInt)}; };
  const Tensor shorts = arange(18).to(kShort);
  for (const Tensor& x : {shorts.as_strided({1, 8}, {9, 1}), shorts.as_strided({1, 2, 8}, {3, 8, 1}),
                          shorts.as_strided({8, 1}, {1, 7}).t()})
    EXPECT_TRUE(sameValues(vmapped(f, {x}, {0})[0], loop(f, {x}, {0})[0])) << x.sizes();
  EXPECT_EQ(vmapped(f, {shorts.as_strided({0, 8}, {9, 1})}, {0})[0].sizes(), IntArrayRef({0, 4}));
  // It is a view.
  vmap([](const Tensor& t) { return ops::view_dtype::call(t, kInt).zero_(); })(shorts.as_strided({1, 8}, {9, 1}));
  EXPECT_EQ(shorts.sum().item<int64_t>(), 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 16 + 17);
}

// An offset counts from the start of all samples. In a chunk its meaning is known where the window is of one sample.
TEST(VmapShapes, OffsetsOfWindowsInChunks) {
  using Window = std::function<Tensor(const Tensor&)>;
  const Tensor x = arange(24).view({4, 6}).to(kDouble);
  const VmapOptions chunks{.chunk_size = 2}, ones{.chunk_size = 1};
  const Window own = [](const Tensor& t) { return (t * 1).as_strided({2, 2}, {3, 1}, 1); };
  const Window relative = [](const Tensor& t) { return t.as_strided({2}, {2}, t.storage_offset() + 1); };
  const Window none = [](const Tensor& t) { return t.as_strided({2}, {2}); };
  for (const Window& f : {own, relative, none}) EXPECT_TRUE(sameValues(vmap(f, chunks)(x), vmap(f)(x)));
  const Window scattered = [](const Tensor& t) {
    return as_strided_scatter(t * 1, t.slice(0, 1, 5).view({2, 2}), {2, 2}, {3, 1}, 1);
  };
  EXPECT_TRUE(sameValues(vmap(scattered, chunks)(x), vmap(scattered)(x)));

  const Window given = [](const Tensor& t) { return t.as_strided({2}, {2}, 1); };
  const Window given_scattered = [](const Tensor& t) { return as_strided_scatter(t, t.slice(0, 4), {2}, {2}, 1); };
  const Tensor windows = arange(9).to(kDouble).as_strided({4, 6}, {1, 1});  // samples that share elements
  for (const Window& f : {given, given_scattered})
    for (const VmapOptions& options : {chunks, ones})
      for (const Tensor& t : {x, windows})
        EXPECT_THAT(errorOf([&] { vmap(f, options)(t); }), testing::HasSubstr("leave it out")) << t;
  const Tensor repeated = x[0].expand({4, 6});  // all samples start where the first one does
  EXPECT_TRUE(sameValues(vmap(given, chunks)(repeated), vmap(given)(repeated)));
}

}  // namespace
}  // namespace shunt::test
