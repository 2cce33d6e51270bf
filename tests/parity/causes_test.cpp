// The words of causes.h: given for what they say, and for nothing else.
#include "tests/parity/causes.h"

#include "tests/parity/dtypes.h"

#include <gtest/gtest.h>

namespace parity {

Outcome runModel(const Case& c) { return runShunt(c); }

namespace {

constexpr int kFloat64 = 7;

std::vector<uint8_t> bytesOf(const std::vector<double>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(double));
  for (size_t i = 0; i < values.size(); ++i) storeElement(kFloat64, values[i], &bytes[i * sizeof(double)]);
  return bytes;
}

TensorState stateOf(std::vector<int64_t> sizes, const std::vector<double>& values) {
  TensorState t;
  t.dtype = kFloat64;
  t.sizes = std::move(sizes);
  t.bytes = bytesOf(values);
  return t;
}

std::vector<size_t> differing(const TensorState& a, const TensorState& b) {
  std::vector<size_t> wrong;
  for (size_t at = 0; at < a.bytes.size(); at += sizeof(double))
    if (!std::equal(&a.bytes[at], &a.bytes[at] + sizeof(double), &b.bytes[at])) wrong.push_back(at / sizeof(double));
  return wrong;
}

/// sort of a matrix that shows some of a storage's elements.
struct Sorted {
  Case c;
  Sorted(const std::vector<double>& storage, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset,
         Origin origin) {
    c.name = "aten::sort";
    c.storages.push_back({kFloat64, bytesOf(storage)});
    TensorSpec t;
    t.storage = 0;
    t.sizes = std::move(sizes);
    t.strides = std::move(strides);
    t.offset = offset;
    t.origin = origin;
    c.tensors.push_back(t);
    c.args = {Value::ofTensor(0), Value::ofInt(-1), Value::ofBool(false)};
  }
  std::string causeOfGradients(const std::vector<double>& ours, const std::vector<double>& theirs) const {
    std::vector<int64_t> sizes = c.tensors[0].sizes;
    if (c.tensors[0].origin == Origin::kViewOfClone) sizes = {static_cast<int64_t>(ours.size())};
    const TensorState a = stateOf(sizes, ours), b = stateOf(sizes, theirs);
    return causeOf(c, a, b, differing(a, b), true, 0);
  }
};

TEST(ParityCauses, EqualElementsOfALineShareTheirGradients) {
  const Sorted rows({1, 1, 2, 1, 2, 2}, {2, 3}, {3, 1}, 0, Origin::kLeaf);
  EXPECT_EQ(rows.causeOfGradients({3, 4, 5, 6, 7, 8}, {4, 3, 5, 6, 8, 7}), "equal elements");
  EXPECT_EQ(rows.causeOfGradients({3, 4, 5, 6, 7, 8}, {4, 4, 5, 6, 7, 8}), "") << "another sum";
  EXPECT_EQ(rows.causeOfGradients({3, 4, 5, 6, 7, 8}, {5, 4, 3, 6, 7, 8}), "") << "among others";
  EXPECT_EQ(rows.causeOfGradients({3, 4, 5, 6, 7, 8}, {6, 4, 5, 3, 7, 8}), "") << "of another line";
}

TEST(ParityCauses, WhatTheSortedTensorDoesNotShowHasItsOwnGradient) {
  const Sorted part({1, 1, 1, 1, 9, 1}, {1, 2}, {2, 1}, 1, Origin::kViewOfClone);
  EXPECT_EQ(part.causeOfGradients({0, 3, 4, 0, 0, 0}, {0, 4, 3, 0, 0, 0}), "equal elements");
  EXPECT_EQ(part.causeOfGradients({0, 3, 4, 0, 0, 0}, {0, 4, 3, 1, 0, 0}), "") << "in front of or behind it";
  EXPECT_EQ(part.causeOfGradients({0, 3, 4, 0, 0, 0}, {3, 0, 4, 0, 0, 0}), "") << "equal, but not shown";
  const Sorted repeated({5, 5, 6}, {3}, {0}, 1, Origin::kViewOfClone);
  EXPECT_EQ(repeated.causeOfGradients({0, 3, 0}, {3, 0, 0}), "") << "of the size of the storage, and a view of it";
}

TEST(ParityCauses, LinesThatOverlapShareTogether) {
  // Lines of elements 0 and 1, 1 and 2.
  const Sorted windows({4, 4, 4}, {2, 2}, {1, 1}, 0, Origin::kViewOfClone);
  EXPECT_EQ(windows.causeOfGradients({1, 4, 2}, {3, 4, 0}), "equal elements");
  EXPECT_EQ(windows.causeOfGradients({1, 4, 2}, {3, 4, 1}), "");
}

TEST(ParityCauses, PartsOfNumbersAloneAreRoundedToTheDefaultDtype) {
  Case c;
  c.name = "aten::binary_cross_entropy_with_logits";
  for (const double v : {0.5, 2.0}) {
    TensorSpec t;
    t.storage = static_cast<int>(c.storages.size());
    c.storages.push_back({kFloat64, bytesOf({v})});
    c.tensors.push_back(t);
  }
  c.args = {Value::ofTensor(0), Value::ofTensor(1), Value::none(), Value::none(), Value::ofInt(0)};
  const auto cause = [&](double ours, double theirs) {
    return causeOf(c, stateOf({}, {ours}), stateOf({}, {theirs}), {0}, false, 0);
  };
  EXPECT_EQ(cause(1.5, 1.5000001), "") << "no number";
  c.tensors[1].wrapped_number = true;
  EXPECT_EQ(cause(1.5, 1.5000001), "of numbers alone");
  EXPECT_EQ(cause(1.5, 1.5001), "");
}

/// out= of {sizes} with the one element 7, and an operand of size 1 with the element 5.
Case joined(const char* name, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  Case c;
  c.name = name;
  c.overload = "out";
  for (const double v : {5.0, 7.0}) {
    TensorSpec t;
    t.storage = static_cast<int>(c.storages.size());
    t.sizes = t.strides = {1};
    c.storages.push_back({kFloat64, bytesOf({v})});
    c.tensors.push_back(t);
  }
  c.tensors[1].sizes = std::move(sizes);
  c.tensors[1].strides = std::move(strides);
  c.args = {Value::ofTensors({0}), Value::ofInt(-1), Value::ofTensor(1)};
  return c;
}

TEST(ParityCauses, AnOutOfIdleStridesIsLeftAsItWas) {
  const auto cause = [](const Case& c, double ours, double theirs) {
    const std::vector<int64_t>& sizes = c.tensors[1].sizes;
    return causeOf(c, stateOf(sizes, {ours}), stateOf(sizes, {theirs}), {0}, false, 0);
  };
  const Case cat = joined("aten::cat", {1}, {2}), stack = joined("aten::stack", {1, 1}, {2, 2});
  for (const Case& c : {cat, stack}) {
    EXPECT_EQ(cause(c, 5, 7), "left as it was") << c.name;
    EXPECT_EQ(cause(c, 5, 8), "") << c.name;
    EXPECT_EQ(cause(c, 6, 7), "") << c.name << ": what Shunt wrote is wrong";
  }
  EXPECT_EQ(cause(joined("aten::cat", {1}, {1}), 5, 7), "") << "with the stride of memory";
}

}  // namespace
}  // namespace parity
