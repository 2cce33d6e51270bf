// InlineVector, which holds the edges of nodes: what it owns is neither lost nor destroyed twice, inside itself and
// beyond.
#include <shunt/core/inline_vector.h>

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace shunt {
namespace {

using Shared = std::shared_ptr<int>;
using List = InlineVector<Shared, 3>;

/// A list of `n` elements that all refer to `target`.
List listOf(size_t n, const Shared& target) {
  List list;
  for (size_t i = 0; i < n; ++i) list.push_back(target);
  return list;
}

class InlineVectorTest : public testing::TestWithParam<size_t> {
 protected:
  const size_t n_ = GetParam();
  const Shared target_ = std::make_shared<int>(7);
  long owners() const { return target_.use_count() - 1; }
};

TEST_P(InlineVectorTest, OwnsItsElements) {
  {
    List list = listOf(n_, target_);
    EXPECT_EQ(list.size(), n_);
    EXPECT_EQ(owners(), static_cast<long>(n_));
    for (const Shared& s : list) EXPECT_EQ(s, target_);
    list.clear();
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(owners(), 0);
    list.emplace_back(target_);
    EXPECT_EQ(list.back(), target_);
  }
  EXPECT_EQ(owners(), 0);
}

TEST_P(InlineVectorTest, CopiesAndMoves) {
  {
    List list = listOf(n_, target_);
    const List copy = list;
    EXPECT_EQ(owners(), static_cast<long>(2 * n_));
    List moved = std::move(list);
    EXPECT_EQ(owners(), static_cast<long>(2 * n_));
    EXPECT_TRUE(list.empty());
    list = listOf(1, target_);  // usable again
    EXPECT_EQ(list.size(), 1u);
    moved = copy;
    EXPECT_EQ(owners(), static_cast<long>(2 * n_ + 1));
    moved = List();
    EXPECT_EQ(owners(), static_cast<long>(n_ + 1));
    EXPECT_EQ(copy.size(), n_);
  }
  EXPECT_EQ(owners(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, InlineVectorTest, testing::Values(0, 1, 3, 4, 20));

TEST(InlineVector, KeepsItsOrder) {
  InlineVector<std::unique_ptr<int>, 3> list;
  list.reserve(2);
  for (int i = 0; i < 10; ++i) list.push_back(std::make_unique<int>(i));
  for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(*list[i], static_cast<int>(i));
  const InlineVector<int, 2> numbers = {3, 1, 2};
  EXPECT_EQ(std::vector<int>(numbers.begin(), numbers.end()), (std::vector<int>{3, 1, 2}));
}

}  // namespace
}  // namespace shunt
