// Names that a misspelt one may mean.
#include <shunt/core/near_names.h>

#include <gmock/gmock.h>

namespace shunt::detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SpellingDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(spellingDistance("", ""), 0u);
  EXPECT_EQ(spellingDistance("", "abc"), 3u);
  EXPECT_EQ(spellingDistance("abc", ""), 3u);
  EXPECT_EQ(spellingDistance("relu", "rellu"), 1u);
  EXPECT_EQ(spellingDistance("rellu", "relu"), 1u);
  EXPECT_EQ(spellingDistance("axes", "axis"), 1u);
  EXPECT_EQ(spellingDistance("THRESOLD", "threshold"), 1u);
  EXPECT_EQ(spellingDistance("mena", "mean"), 1u);
  EXPECT_EQ(spellingDistance("kitten", "sitting"), 3u);
}

TEST(NearNames, AreTheNearestFirstAndNoOthers) {
  EXPECT_THAT(nearNames("sofmax", {"log_softmax", "softmin", "softmax", "amax"}), ElementsAre("softmax"));
  EXPECT_THAT(nearNames("add", {"add", "add"}), IsEmpty()) << "a name isn't near to itself";
  EXPECT_THAT(nearNames("ab", {"cd", "ac", "abc"}), ElementsAre("ac", "abc"));
  EXPECT_THAT(nearNames("", {"a", "ab"}), IsEmpty());
  EXPECT_THAT(nearNames("x", {"y"}), IsEmpty());
  EXPECT_THAT(nearNames("dim", {"dims", "dims", "dima", "dimb"}, 2), ElementsAre("dims", "dima"));
}

TEST(DidYouMean, IsTheEndOfAMessage) {
  EXPECT_EQ(didYouMean("SHUNT_JIT_THRESOLD", {"SHUNT_JIT", "SHUNT_JIT_THRESHOLD", "SHUNT_LOG"}),
            "; did you mean 'SHUNT_JIT_THRESHOLD'?");
  EXPECT_EQ(didYouMean("dimz", {"dim", "dims"}), "; did you mean 'dim' or 'dims'?");
  EXPECT_EQ(didYouMean("quux", {"dim", "axis"}), "");
  EXPECT_EQ(didYouMean({"a::b"}), "; did you mean 'a::b'?");
  EXPECT_EQ(didYouMean(std::vector<std::string>()), "");
}

}  // namespace
}  // namespace shunt::detail
