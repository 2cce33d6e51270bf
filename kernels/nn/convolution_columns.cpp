// Convolutions by way of columns and gemm, and the choice between them and oneDNN.
#include "kernels/linalg/gemm.h"
#include "kernels/nn/convolution_parts.h"

#include <cstring>

namespace shunt::nn {

namespace columns {
namespace {

/// Positions of one dimension at which an element of the kernel lies inside of the image: [first, end).
struct Inside {
  int64_t first, end, offset;  // the element's place is position * stride + offset
};

Inside insideOf(const ConvShape& s, int d, int64_t k) {
  const int64_t size = d == 0 ? s.height : s.width, positions = d == 0 ? s.out_height : s.out_width;
  const int64_t offset = k * s.dilation[d] - s.padding[d], stride = s.stride[d];
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = offset >= size ? 0 : (size - offset + stride - 1) / stride;
  return {std::min(first, positions), std::clamp(end, std::min(first, positions), positions), offset};
}

/// f(row, channel, positions inside, down and across) for each row of the columns: an element of the kernel.
template <class F>
void forEachRow(const ConvShape& s, const F& f) {
  int64_t row = 0;
  for (int64_t c = 0; c < s.in / s.groups; ++c)
    for (int64_t ky = 0; ky < s.kernel[0]; ++ky)
      for (int64_t kx = 0; kx < s.kernel[1]; ++kx, ++row) f(row, c, insideOf(s, 0, ky), insideOf(s, 1, kx));
}

/// columns[row, position] = the image's element, or 0 outside of it. One group of one sample.
template <class T>
void fill(const ConvShape& s, const T* image, T* columns) {
  forEachRow(s, [&](int64_t row, int64_t c, Inside y, Inside x) {
    T* to = columns + row * s.positions();
    const T* plane = image + c * s.height * s.width;
    for (int64_t oy = 0; oy < s.out_height; ++oy, to += s.out_width) {
      if (oy < y.first || oy >= y.end) {
        std::fill_n(to, s.out_width, T(0));
        continue;
      }
      const T* line = plane + (oy * s.stride[0] + y.offset) * s.width;
      std::fill(to, to + x.first, T(0));
      if (s.stride[1] == 1)
        std::copy(line + x.first + x.offset, line + x.end + x.offset, to + x.first);
      else
        for (int64_t ox = x.first; ox < x.end; ++ox) to[ox] = line[ox * s.stride[1] + x.offset];
      std::fill(to + x.end, to + s.out_width, T(0));
    }
  });
}

/// The image's elements plus the columns' at their places.
template <class T>
void add(const ConvShape& s, const T* columns, T* image) {
  forEachRow(s, [&](int64_t row, int64_t c, Inside y, Inside x) {
    const T* from = columns + row * s.positions();
    T* plane = image + c * s.height * s.width;
    for (int64_t oy = y.first; oy < y.end; ++oy) {
      T* line = plane + (oy * s.stride[0] + y.offset) * s.width;
      const T* values = from + oy * s.out_width;
      for (int64_t ox = x.first; ox < x.end; ++ox) {
        T& element = line[ox * s.stride[1] + x.offset];
        element = static_cast<T>(element + values[ox]);
      }
    }
  });
}

/// Whether the image is its own columns.
bool isPointwise(const ConvShape& s) {
  for (int d = 0; d < 2; ++d)
    if (s.kernel[d] != 1 || s.stride[d] != 1 || s.padding[d] != 0) return false;
  return s.out_height == s.height && s.out_width == s.width;
}

/// Where columns are made; none for a pointwise convolution.
template <class T>
std::unique_ptr<T[]> room(const ConvShape& s) {
  if (isPointwise(s)) return nullptr;
  return std::make_unique_for_overwrite<T[]>(static_cast<size_t>(s.terms() * s.positions()));
}

template <class T>
const T* columnsOf(const ConvShape& s, const T* image, T* room) {
  if (room == nullptr) return image;
  fill(s, image, room);
  return room;
}

/// f(sample, group, where the group begins in the images, in the weights, in the results).
template <class F>
void forEachGroup(const ConvShape& s, const F& f) {
  for (int64_t n = 0; n < s.samples; ++n)
    for (int64_t g = 0; g < s.groups; ++g)
      f(n, g, (n * s.groups + g) * (s.imageSize() / s.groups), g * (s.weightSize() / s.groups),
        (n * s.groups + g) * (s.resultSize() / s.groups));
}

}  // namespace

template <class T>
void convolve(const ConvShape& shape, const T* image, const T* weight, const T* bias, T* result) {
  const int64_t out = shape.out / shape.groups, positions = shape.positions(), terms = shape.terms();
  forEachPart(shape, [&](const ConvShape& part, int64_t first) {
    const std::unique_ptr<T[]> space = room<T>(part);
    forEachGroup(part, [&](int64_t, int64_t g, int64_t image_at, int64_t weight_at, int64_t result_at) {
      T* to = result + first * shape.resultSize() + result_at;
      if (bias != nullptr)
        for (int64_t k = 0; k < out; ++k) std::fill_n(to + k * positions, positions, bias[g * out + k]);
      const T* from = columnsOf(part, image + first * shape.imageSize() + image_at, space.get());
      linalg::gemmSerial<T>(out, positions, terms, T(1), {weight + weight_at, terms, false}, {from, positions, false},
                            bias != nullptr ? T(1) : T(0), to, positions);
    });
  });
}

template <class T>
void convolveBack(const ConvShape& shape, const T* grad, const T* weight, T* image) {
  const int64_t out = shape.out / shape.groups, positions = shape.positions(), terms = shape.terms();
  forEachPart(shape, [&](const ConvShape& part, int64_t first) {
    const std::unique_ptr<T[]> space = room<T>(part);
    forEachGroup(part, [&](int64_t, int64_t, int64_t image_at, int64_t weight_at, int64_t result_at) {
      T* to = image + first * shape.imageSize() + image_at;
      linalg::gemmSerial<T>(terms, positions, out, T(1), {weight + weight_at, terms, true},
                            {grad + first * shape.resultSize() + result_at, positions, false}, T(0),
                            space == nullptr ? to : space.get(), positions);
      if (space == nullptr) return;
      std::fill_n(to, part.imageSize() / part.groups, T(0));
      add(part, space.get(), to);
    });
  });
}

template <class T>
void convolveWeight(const ConvShape& shape, const T* grad, const T* image, T* weight) {
  const int64_t out = shape.out / shape.groups, positions = shape.positions(), terms = shape.terms();
  sumOverParts(shape, weight, [&](const ConvShape& part, int64_t first, T* sum) {
    const std::unique_ptr<T[]> space = room<T>(part);
    forEachGroup(part, [&](int64_t n, int64_t, int64_t image_at, int64_t weight_at, int64_t result_at) {
      const T* from = columnsOf(part, image + first * shape.imageSize() + image_at, space.get());
      linalg::gemmSerial<T>(out, terms, positions, T(1),
                            {grad + first * shape.resultSize() + result_at, positions, false}, {from, positions, true},
                            n == 0 ? T(0) : T(1), sum + weight_at, terms);
    });
  });
}

}  // namespace columns

template <class T>
void convolve(const ConvShape& shape, const T* image, const T* weight, const T* bias, T* result) {
  if constexpr (std::is_same_v<T, float>)
    if (onednn::convolve(shape, image, weight, bias, result)) return;
  columns::convolve(shape, image, weight, bias, result);
}

template <class T>
void convolveBack(const ConvShape& shape, const T* grad, const T* weight, T* image) {
  if constexpr (std::is_same_v<T, float>)
    if (onednn::convolveBack(shape, grad, weight, image)) return;
  columns::convolveBack(shape, grad, weight, image);
}

template <class T>
void convolveWeight(const ConvShape& shape, const T* grad, const T* image, T* weight) {
  if constexpr (std::is_same_v<T, float>)
    if (onednn::convolveWeight(shape, grad, image, weight)) return;
  columns::convolveWeight(shape, grad, image, weight);
}

#define SHUNT_CONVOLUTION(T)                                                     \
  template void convolve<T>(const ConvShape&, const T*, const T*, const T*, T*); \
  template void convolveBack<T>(const ConvShape&, const T*, const T*, T*);
SHUNT_CONVOLUTION(float)
SHUNT_CONVOLUTION(double)
SHUNT_CONVOLUTION(uint8_t)
SHUNT_CONVOLUTION(int8_t)
SHUNT_CONVOLUTION(int16_t)
SHUNT_CONVOLUTION(int32_t)
SHUNT_CONVOLUTION(int64_t)
#undef SHUNT_CONVOLUTION
template void convolveWeight<float>(const ConvShape&, const float*, const float*, float*);
template void convolveWeight<double>(const ConvShape&, const double*, const double*, double*);

}  // namespace shunt::nn
