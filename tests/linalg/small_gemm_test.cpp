// Products that LIBXSMM's code computes: values against the definition, operands at the ends of their memory, and that
// the bits depend on nothing but the operands.
#include "kernels/linalg/small_gemm.h"

#include <shunt/core/isa.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace shunt {
namespace {

using linalg::isSmallProduct;
using linalg::smallKernelsMade;

/// Elements that end where readable memory does, with an unreadable page on either side.
class Guarded {
 public:
  Guarded(int64_t elements, size_t size) : used_((static_cast<size_t>(elements) * size + kPage - 1) / kPage * kPage) {
    void* memory = mmap(nullptr, used_ + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = static_cast<std::byte*>(memory);
    mprotect(base_, kPage, PROT_NONE);
    mprotect(base_ + kPage + used_, kPage, PROT_NONE);
    first_ = base_ + kPage + used_ - static_cast<size_t>(elements) * size;
  }
  ~Guarded() { munmap(base_, used_ + 2 * kPage); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  void* data() const { return first_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t used_;
  std::byte *base_, *first_;
};

/// A rows x cols matrix with a leading dimension, or its transpose's transpose.
struct Matrix {
  Matrix(int64_t rows, int64_t cols, bool transposed, int64_t gap, ScalarType dtype, std::mt19937& random)
      : ld((transposed ? rows : cols) + gap),
        memory((transposed ? cols - 1 : rows - 1) * ld + (transposed ? rows : cols), dtype == kFloat ? 4 : 8),
        tensor(
            from_blob(memory.data(), {rows, cols}, {transposed ? 1 : ld, transposed ? ld : 1}, TensorOptions(dtype))) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) set(i, j, static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 64);
  }
  void set(int64_t i, int64_t j, double v) {
    const int64_t at = i * tensor.stride(0) + j * tensor.stride(1);
    if (tensor.scalar_type() == kFloat)
      static_cast<float*>(memory.data())[at] = static_cast<float>(v);
    else
      static_cast<double*>(memory.data())[at] = v;
  }
  int64_t ld;
  Guarded memory;
  Tensor tensor;
};

double valueAt(const Tensor& t, int64_t i, int64_t j) {
  const int64_t at = i * t.stride(0) + j * t.stride(1);
  if (t.scalar_type() == kFloat) return static_cast<const float*>(t.data_ptr())[at];
  return static_cast<const double*>(t.data_ptr())[at];
}

std::string bytesOf(const Tensor& t) {
  return {static_cast<const char*>(t.data_ptr()), static_cast<size_t>(t.numel() * t.itemsize())};
}

/// Whether every element is that of beta * c + a * b, but for the roundings of its sum.
bool isProduct(const Tensor& result, const Tensor& a, const Tensor& b, const Tensor* c) {
  const double epsilon = result.scalar_type() == kFloat ? 0x1p-24 : 0x1p-53;
  for (int64_t i = 0; i < a.size(0); ++i)
    for (int64_t j = 0; j < b.size(1); ++j) {
      double sum = c != nullptr ? valueAt(*c, 0, j) : 0, magnitude = std::abs(sum);
      for (int64_t l = 0; l < a.size(1); ++l) {
        const double product = valueAt(a, i, l) * valueAt(b, l, j);
        sum += product;
        magnitude += std::abs(product);
      }
      if (!(std::abs(valueAt(result, i, j) - sum) <= magnitude * epsilon * static_cast<double>(a.size(1) + 1)))
        return false;
    }
  return true;
}

bool hasSmallKernels() { return detail::activeIsa() != Isa::kBaseline; }

TEST(SmallProduct, IsTheDefinitionsForEveryOrientation) {
  std::mt19937 random(1);
  const auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  int small = 0;
  for (int i = 0; i < 3000; ++i) {
    const ScalarType dtype = random() % 2 ? kFloat : kDouble;
    const int64_t m = upTo(random() % 2 ? 70 : 8), n = upTo(random() % 2 ? 70 : 20), k = upTo(random() % 2 ? 70 : 16);
    const Matrix a(m, k, random() % 2, upTo(3) - 1, dtype, random), b(k, n, random() % 2, upTo(3) - 1, dtype, random);
    const Matrix c(1, n, false, 0, dtype, random);
    const size_t size = dtype == kFloat ? 4 : 8;
    SCOPED_TRACE(testing::Message() << dtype << ' ' << m << 'x' << n << 'x' << k << ' ' << a.tensor.strides()
                                    << b.tensor.strides());
    small += isSmallProduct(m, n, k, a.tensor.stride(0) == 1 && m > 1, b.tensor.stride(0) == 1 && k > 1, size);
    ASSERT_TRUE(isProduct(shunt::mm(a.tensor, b.tensor), a.tensor, b.tensor, nullptr));
    ASSERT_TRUE(isProduct(shunt::addmm(c.tensor.reshape({n}), a.tensor, b.tensor), a.tensor, b.tensor, &c.tensor));
  }
  if (hasSmallKernels()) EXPECT_GT(small, 1000) << "most of these have to be small";
}

TEST(SmallProduct, OutputMayBeAnythingBefore) {
  std::mt19937 random(2);
  const Matrix a(8, 8, false, 0, kFloat, random), b(8, 8, false, 0, kFloat, random);
  Tensor out = shunt::full({8, 8}, std::nan(""), TensorOptions(kFloat));
  shunt::mm_out(out, a.tensor, b.tensor);
  EXPECT_TRUE(isProduct(out, a.tensor, b.tensor, nullptr));
}

TEST(SmallProduct, OneKernelAShape) {
  const Tensor a = shunt::randn({9, 21}), b = shunt::randn({21, 19});
  ASSERT_EQ(isSmallProduct(9, 19, 21, false, false, 4), hasSmallKernels());
  const uint64_t before = smallKernelsMade();
  shunt::mm(a, b);
  const uint64_t made = smallKernelsMade();
  EXPECT_EQ(made, before + (hasSmallKernels() ? 1 : 0));
  for (int i = 0; i < 100; ++i) shunt::mm(a, b);
  EXPECT_EQ(smallKernelsMade(), made);
  EXPECT_FALSE(isSmallProduct(65, 65, 65, false, false, 4));
  shunt::mm(shunt::randn({65, 65}), shunt::randn({65, 65}));
  EXPECT_EQ(smallKernelsMade(), made) << "OpenBLAS's";
}

// Of several shapes, on several threads, in a batch, in a child.
TEST(SmallProduct, BitsDependOnTheOperandsAlone) {
  const Tensor a = shunt::randn({12, 30}), b = shunt::randn({30, 17}), w = shunt::randn({17, 30});
  const auto all = [&] {
    return bytesOf(shunt::mm(a, b)) + bytesOf(shunt::mm(a, w.t())) +
           bytesOf(shunt::addmm(a.select(0, 0).narrow(0, 0, 17), a, b));
  };
  const std::string expected = all();
  for (int64_t m = 1; m <= 24; ++m)
    for (int64_t n = 8; n <= 32; ++n) shunt::mm(shunt::ones({m, 4}), shunt::ones({4, n}));
  EXPECT_EQ(all(), expected);
  std::string on_thread;
  std::thread([&] { on_thread = all(); }).join();
  EXPECT_EQ(on_thread, expected);
  const Tensor batch = shunt::bmm(a.unsqueeze(0).expand({3, 12, 30}), b.unsqueeze(0).expand({3, 30, 17}));
  EXPECT_EQ(bytesOf(batch.select(0, 2).contiguous()), bytesOf(shunt::mm(a, b)));
  const pid_t child = fork();
  if (child == 0) _exit(all() == expected ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// The kernel is looked up once for a batch. Numbers that show another order of operands, or another way to begin a sum.
TEST(SmallProduct, OfABatchIsThatOfEachMatrix) {
  std::mt19937 random(5);
  const auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const Tensor odd = shunt::tensor({0.0, -0.0, 1e-30, -1e-30, std::nan("1"), -std::nan("2"), HUGE_VAL, 1.0, -2.5});
  const auto drawn = [&](int64_t rows, int64_t cols, ScalarType dtype) {
    const bool turned = random() % 3 == 0, shared = random() % 5 == 0;
    const int64_t count = shared ? 1 : 4, gap = upTo(3) - 1;
    const Tensor memory = shunt::randn({count, turned ? cols : rows, (turned ? rows : cols) + gap});
    const Tensor places = shunt::randint(30, memory.sizes(), TensorOptions(kLong));
    const Tensor values = shunt::where(
        places < 9, odd.to(kFloat).index_select(0, places.clamp(0, 8).reshape({-1})).reshape(memory.sizes()), memory);
    const Tensor matrices = values.to(dtype).narrow(2, 0, turned ? rows : cols).expand({4, -1, -1});
    return turned ? matrices.transpose(1, 2) : matrices;
  };
  int small = 0;
  for (int i = 0; i < 1000; ++i) {
    const ScalarType dtype = random() % 2 ? kFloat : kDouble;
    const int64_t m = upTo(40), n = upTo(80), k = random() % 2 ? 1 : upTo(20);
    const Tensor a = drawn(m, k, dtype), b = drawn(k, n, dtype), c = drawn(m, n, dtype).contiguous();
    const Tensor product = shunt::bmm(a, b), sum = shunt::baddbmm(c, a, b);
    for (int64_t j = 0; j < 4; ++j) {
      ASSERT_EQ(bytesOf(product.select(0, j)), bytesOf(shunt::mm(a.select(0, j), b.select(0, j))))
          << dtype << ' ' << m << 'x' << n << 'x' << k << ' ' << a.strides() << b.strides();
      ASSERT_EQ(bytesOf(sum.select(0, j)), bytesOf(shunt::addmm(c.select(0, j), a.select(0, j), b.select(0, j))));
    }
    small += isSmallProduct(m, n, k, a.stride(1) == 1 && m > 1, b.stride(1) == 1 && k > 1, dtype == kFloat ? 4 : 8);
  }
  if (hasSmallKernels()) EXPECT_GT(small, 300);
}

int mappings() {
  std::ifstream maps("/proc/self/maps");
  int n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}

// It goes after the thread's objects that are made later.
struct LastProduct {
  Tensor operand;
  std::string* result = nullptr;
  ~LastProduct() {
    if (result == nullptr) return;
    for (int i = 0; i < 3; ++i) *result = bytesOf(shunt::mm(operand, operand));
  }
};
thread_local LastProduct last_product;

TEST(SmallProduct, WhileAThreadEnds) {
  const Tensor a = shunt::randn({8, 8});
  const std::string expected = bytesOf(shunt::mm(a, a));
  for (int i = 0; i < 100; ++i) {
    std::string last;
    std::thread([&] {
      last_product.operand = a;
      last_product.result = &last;
      shunt::mm(a, a);
    }).join();
    ASSERT_EQ(last, expected);
  }
}

TEST(SmallProduct, ManyShapesOnManyThreadsAreMadeOnce) {
  const auto all = [] {
    for (int64_t m = 1; m <= 12; ++m)
      for (int64_t n = 8; n < 24; ++n) shunt::mm(shunt::ones({m, 3}), shunt::ones({3, n}));
  };
  const uint64_t before = smallKernelsMade();
  const int mapped = mappings();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(all);
  for (std::thread& t : threads) t.join();
  const uint64_t made = smallKernelsMade() - before;
  EXPECT_LE(made, 12u * 16u);
  EXPECT_EQ(made > 100, hasSmallKernels()) << "few of them were made before";
  all();
  EXPECT_EQ(smallKernelsMade(), before + made);
  EXPECT_LT(mappings(), mapped + 50) << "stacks of threads, but none for each kernel";
}

/// What a child that has made few kernels says.
std::string inChild(const std::function<std::string()>& f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string result = f();
    _exit(write(ends[1], result.data(), result.size()) == static_cast<ssize_t>(result.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string result(size_t{1} << 16, 0);
  size_t size = 0;
  for (ssize_t n; (n = read(ends[0], result.data() + size, result.size() - size)) > 0;) size += static_cast<size_t>(n);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  result.resize(size);
  return result;
}

// When no more kernels can be kept, they are made each time: the same ones, on one thread or several.
TEST(SmallProduct, MoreShapesThanTheProcessKeeps) {
  if (!hasSmallKernels()) GTEST_SKIP() << "no small kernels on this CPU";
  const Tensor a = shunt::randn({31, 24}), b = shunt::randn({24, 40});
  const auto late = [&](int64_t rows) { return bytesOf(shunt::mm(a.narrow(0, 0, rows), b)); };
  const auto both = [&] { return late(29) + late(31); };
  const std::string expected = inChild(both);
  const int mapped = mappings();
  for (int64_t k = 5; smallKernelsMade() <= linalg::smallKernelsKept() + 10; ++k)
    for (int64_t m = 1; m <= 64; ++m)
      for (int64_t n = 8; n < 72; ++n) shunt::mm(shunt::ones({m, k}), shunt::ones({k, n}));
  EXPECT_LT(mappings(), mapped + 20);
  const uint64_t made = smallKernelsMade();
  EXPECT_EQ(both(), expected);
  EXPECT_EQ(smallKernelsMade(), made + 2);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round)
        wrong += (i % 2 ? both() : late(29)) != (i % 2 ? expected : expected.substr(0, 29 * 40 * 4));
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SmallProduct, NoMemoryIsWritableAndExecutable) {
  shunt::mm(shunt::ones({8, 8}), shunt::ones({8, 8}));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_EQ(line.find("rwx"), std::string::npos) << line;
}

}  // namespace
}  // namespace shunt
