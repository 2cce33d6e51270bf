#include "kernels/nn/pool.h"

#include <shunt/core/error.h>
#include <shunt/core/parallel.h>
#include <shunt/elementwise/cast.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace shunt::nn {
namespace {

/// f(plane) for all, in parts that depend on the shape only.
template <class F>
void forEachPlane(int64_t planes, int64_t cost, const F& f) {
  parallelFor(0, planes, std::max<int64_t>(1, kDefaultGrain / std::max<int64_t>(cost, 1)),
              [&](int64_t begin, int64_t end) {
                for (int64_t p = begin; p < end; ++p) f(p);
              });
}

template <class T>
const T* elements(const TensorImpl& t) {
  return reinterpret_cast<const T*>(t.data());
}
template <class T>
T* written(const TensorImpl& t) {
  return reinterpret_cast<T*>(t.data());
}

/// The elements of a window in one dimension: from the first one inside of the plane, every `step`.
struct Line {
  int64_t begin, end, step;
};

Line lineOf(const PoolShape& s, int d, int64_t position) {
  const int64_t from = position * s.stride[d] - s.padding[d], step = s.dilation[d];
  const int64_t end = std::min(from + (s.kernel[d] - 1) * step + 1, s.input[d]);
  return {from >= 0 ? from : from + (-from + step - 1) / step * step, end, step};
}

/// The lines of all positions, which all planes share: down, across.
struct Lines {
  explicit Lines(const PoolShape& s) {
    for (int64_t p = 0; p < s.output[0]; ++p) rows.push_back(lineOf(s, 0, p));
    for (int64_t p = 0; p < s.output[1]; ++p) columns.push_back(lineOf(s, 1, p));
  }
  /// Whether steps lead from before the plane to behind it.
  bool isEmpty(int64_t position) const {
    const auto across = static_cast<int64_t>(columns.size());
    return isEmpty(rows[static_cast<size_t>(position / across)], columns[static_cast<size_t>(position % across)]);
  }
  static bool isEmpty(const Line& y, const Line& x) { return y.begin >= y.end || x.begin >= x.end; }
  std::vector<Line> rows, columns;
};

template <class T>
void maxOfPlane(const Lines& lines, int64_t width, const T* x, T* out, int64_t* indices) {
  using A = opmath_t<T>;
  for (const Line& rows : lines.rows)
    for (const Line& columns : lines.columns) {
      A largest = -std::numeric_limits<A>::infinity();
      int64_t at = Lines::isEmpty(rows, columns) ? -1 : rows.begin * width + columns.begin;
      for (int64_t y = rows.begin; y < rows.end; y += rows.step)
        for (int64_t i = columns.begin; i < columns.end; i += columns.step) {
          const int64_t place = y * width + i;
          const A value = cast<A>(x[place]);
          const bool better = (value > largest) | (value != value);
          largest = better ? value : largest;
          at = better ? place : at;
        }
      *out++ = cast<T>(largest);
      *indices++ = at;
    }
}

/// Whether windows are of so many elements, and none reaches beyond the plane.
bool areWhole(const PoolShape& s, int64_t rows, int64_t columns) {
  const int64_t kernel[] = {rows, columns};
  for (size_t d = 0; d < 2; ++d)
    if (s.kernel[d] != kernel[d] || s.padding[d] != 0 || s.dilation[d] != 1 ||
        (s.output[d] - 1) * s.stride[d] + kernel[d] > s.input[d])
      return false;
  return true;
}

/// maxOfPlane() of such windows: unrolled, and without a branch for each element, since which one is the largest can't
/// be predicted. NaNs are looked at apart.
template <int64_t Rows, int64_t Columns, class T>
void maxOfWholeWindows(const PoolShape& s, const T* x, T* out, int64_t* indices) {
  using A = opmath_t<T>;
  const int64_t width = s.input[1];
  for (int64_t row = 0; row < s.output[0]; ++row)
    for (int64_t column = 0; column < s.output[1]; ++column) {
      const int64_t first = row * s.stride[0] * width + column * s.stride[1];
      A largest = cast<A>(x[first]);
      int64_t at = first;
      bool any_nan = false;
      for (int64_t i = 0; i < Rows * Columns; ++i) {
        const int64_t place = first + i / Columns * width + i % Columns;
        const A value = cast<A>(x[place]);
        any_nan |= value != value;
        at = value > largest ? place : at;
        largest = value > largest ? value : largest;
      }
      for (int64_t i = 0; any_nan && i < Rows * Columns; ++i) {
        const int64_t place = first + i / Columns * width + i % Columns;
        if (const A value = cast<A>(x[place]); value != value) largest = value, at = place;
      }
      *out++ = cast<T>(largest);
      *indices++ = at;
    }
}

template <class T, class F>
void sumPlanes(int64_t planes, int64_t input, int64_t cost, const TensorImpl& out, const F& f) {
  using A = opmath_t<T>;
  forEachPlane(planes, cost, [&](int64_t p) {
    T* const to = written<T>(out) + p * input;
    if constexpr (std::is_same_v<A, T>) {
      std::fill_n(to, input, T(0));
      f(p, to);
    } else {
      const auto sums = std::make_unique<A[]>(static_cast<size_t>(input));
      f(p, sums.get());
      for (int64_t i = 0; i < input; ++i) to[i] = cast<T>(sums[static_cast<size_t>(i)]);
    }
  });
}

struct Windows {
  explicit Windows(const Averages& a) : rows(a.windows(0)), columns(a.windows(1)) {}
  const std::vector<Averages::Window> rows, columns;
};

template <class T>
void averageOfPlane(const Averages& a, const Windows& windows, const T* x, T* out) {
  using A = opmath_t<T>;
  for (const Averages::Window& rows : windows.rows)
    for (const Averages::Window& columns : windows.columns) {
      A sum = 0;
      for (int64_t y = rows.begin; y < rows.end; ++y)
        for (int64_t i = columns.begin; i < columns.end; ++i)
          sum = static_cast<A>(sum + cast<A>(x[y * a.shape.input[1] + i]));
      const bool empty = rows.begin >= rows.end || columns.begin >= columns.end;
      *out++ = empty ? T(0) : cast<T>(static_cast<A>(sum / static_cast<A>(a.divisorOf(rows, columns))));
    }
}

template <class T, class A>
void spreadOverPlane(const Averages& a, const Windows& windows, const T* grad, A* out) {
  for (const Averages::Window& rows : windows.rows)
    for (const Averages::Window& columns : windows.columns) {
      const A given = cast<A>(*grad++);
      if (rows.begin >= rows.end || columns.begin >= columns.end) continue;
      const A share = static_cast<A>(given / static_cast<A>(a.divisorOf(rows, columns)));
      for (int64_t y = rows.begin; y < rows.end; ++y)
        for (int64_t i = columns.begin; i < columns.end; ++i) {
          A& sum = out[y * a.shape.input[1] + i];
          sum = static_cast<A>(sum + share);
        }
    }
}

/// Averages exist for the floating types and int64_t.
template <class F>
void dispatchAverages(const char* op, ScalarType dtype, F&& f) {
  if (dtype == kLong) return f(std::type_identity<int64_t>());
  dispatchFloatingTypes(dtype, op, f);
}

}  // namespace

void maxPool(const PoolShape& shape, const TensorImpl& x, const TensorImpl& out, const TensorImpl& indices) {
  const int64_t cost =
      shape.outputSize() * std::min(shape.kernel[0], shape.input[0]) * std::min(shape.kernel[1], shape.input[1]);
  const Lines lines(shape);
  const bool two_by_two = areWhole(shape, 2, 2), three_by_three = areWhole(shape, 3, 3);
  dispatchFloatingTypes(x.dtype(), "max_pool2d", [&]<class T>(std::type_identity<T>) {
    forEachPlane(shape.planes, cost, [&](int64_t p) {
      const T* const from = elements<T>(x) + p * shape.inputSize();
      T* const to = written<T>(out) + p * shape.outputSize();
      int64_t* const at = written<int64_t>(indices) + p * shape.outputSize();
      if (two_by_two) return maxOfWholeWindows<2, 2>(shape, from, to, at);
      if (three_by_three) return maxOfWholeWindows<3, 3>(shape, from, to, at);
      maxOfPlane(lines, shape.input[1], from, to, at);
    });
  });
}

void maxPoolBackward(const PoolShape& shape, const TensorImpl& grad, const TensorImpl& indices, const TensorImpl& out) {
  const int64_t input = shape.inputSize(), output = shape.outputSize();
  const Lines lines(shape);
  const bool may_be_empty = shape.dilation[0] != 1 || shape.dilation[1] != 1;
  dispatchFloatingTypes(grad.dtype(), "max_pool2d_backward", [&]<class T>(std::type_identity<T>) {
    sumPlanes<T>(shape.planes, input, input + output, out, [&](int64_t p, auto* sums) {
      const T* const from = elements<T>(grad) + p * output;
      const int64_t* const at = elements<int64_t>(indices) + p * output;
      for (int64_t i = 0; i < output; ++i) {
        if (may_be_empty && lines.isEmpty(i)) [[unlikely]]
          continue;
        SHUNT_CHECK(at[i] >= 0 && at[i] < input, "max_pool2d_with_indices_backward(): index ", at[i],
                    " is out of bounds for a plane of ", input, " elements");
        sums[at[i]] += cast<opmath_t<T>>(from[i]);
      }
    });
  });
}

void average(const Averages& a, const TensorImpl& x, const TensorImpl& out) {
  const int64_t input = a.shape.inputSize(), output = a.shape.outputSize();
  const Windows windows(a);
  dispatchAverages("avg_pool2d", x.dtype(), [&]<class T>(std::type_identity<T>) {
    forEachPlane(a.shape.planes, input + output, [&](int64_t p) {
      averageOfPlane(a, windows, elements<T>(x) + p * input, written<T>(out) + p * output);
    });
  });
}

void averageBackward(const Averages& a, const TensorImpl& grad, const TensorImpl& out) {
  const int64_t input = a.shape.inputSize(), output = a.shape.outputSize();
  const Windows windows(a);
  dispatchAverages("avg_pool2d_backward", grad.dtype(), [&]<class T>(std::type_identity<T>) {
    sumPlanes<T>(a.shape.planes, input, input + output, out,
                 [&](int64_t p, auto* sums) { spreadOverPlane(a, windows, elements<T>(grad) + p * output, sums); });
  });
}

}  // namespace shunt::nn
