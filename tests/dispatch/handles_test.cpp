// List<T> and Dict<K, V> as values in C++: sharing, references, iterators, errors.
#include <shunt/core/dict.h>

#include "tests/dispatch/util.h"

#include <algorithm>
#include <numeric>

namespace shunt {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

template <class F>
std::string outOfRange(F f) {
  try {
    f();
  } catch (const std::out_of_range& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST(ListHandle, AlgorithmsOfTheStandardLibrary) {
  List<int64_t> numbers({3, 1, 2});
  std::sort(numbers.begin(), numbers.end());
  EXPECT_THAT(numbers.vec(), ElementsAre(1, 2, 3));
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), int64_t{0}), 6);
  List<std::string> words({"b", "c", "a"});
  std::sort(words.begin(), words.end());
  EXPECT_THAT(words.vec(), ElementsAre("a", "b", "c"));
  std::reverse(words.begin(), words.end());
  EXPECT_THAT(words.vec(), ElementsAre("c", "b", "a"));
  EXPECT_EQ(std::find(words.begin(), words.end(), "b") - words.begin(), 1);
}

TEST(ListHandle, ReferencesWriteWhatAllHandlesShare) {
  List<bool> bools({true, false});
  const List<bool> same = bools;
  bools[1] = bools[0];
  EXPECT_TRUE(same[1]);
  *bools.begin() = false;
  EXPECT_FALSE(same[0]);
  EXPECT_TRUE(bools[1] == true);
  const IValue value = bools;
  value.to<List<bool>>().push_back(true);
  EXPECT_THAT(same.vec(), ElementsAre(false, true, true));
}

TEST(ListHandle, AMovedHandleIsStillOne) {
  List<int64_t> list({1});
  const List<int64_t> other = std::move(list);
  EXPECT_TRUE(list.is(other));
}

TEST(ListHandle, Extending) {
  List<std::string> list({"a"});
  list.append(list);
  list.insert(list.begin() + 1, "b");
  list.resize(4, "c");
  EXPECT_THAT(list.vec(), ElementsAre("a", "b", "a", "c"));
  EXPECT_EQ(list.extract(0), "a");
  list.erase(list.begin() + 2, list.end());
  EXPECT_THAT(list.vec(), ElementsAre("", "b"));
}

TEST(ListHandle, PlacesThatAreNotThere) {
  List<int64_t> list({1, 2});
  const std::string expected = "List: index 2 is out of range for a list of length 2";
  EXPECT_EQ(outOfRange([&] { list.get(2); }), expected);
  EXPECT_EQ(outOfRange([&] { list.set(2, 0); }), expected);
  EXPECT_EQ(outOfRange([&] { list.extract(2); }), expected);
  EXPECT_EQ(outOfRange([&] { list[2] = 0; }), expected);
  EXPECT_EQ(outOfRange([&] { List<std::string>().pop_back(); }), "List::pop_back: the list is empty");
}

TEST(ListHandle, OtherElementsThanTheValueHas) {
  EXPECT_THAT(errorOf([] { List<int64_t>(IValue("a")); }), HasSubstr("expected list, got str"));
  EXPECT_THAT(errorOf([] { toTypedList<int64_t>(toList(List<std::string>({"a"}))); }), HasSubstr("got list"));
  EXPECT_THAT(errorOf([] { toTypedList<bool>(toList(List<int64_t>({1}))); }), HasSubstr("got int[]"));
  const List<IValue> values({1});
  const List<std::string> strings = toTypedList<std::string>(values);
  EXPECT_THAT(errorOf([&] { strings.get(0); }), HasSubstr("expected str, got int"));
}

TEST(ListHandle, OfAValueByItsType) {
  const IValue sizes(IntArrayRef{2, 3});
  EXPECT_EQ(sizes.toIntList().get(1), 3);
  sizes.toIntList().push_back(4);
  EXPECT_THAT(sizes.toIntVector(), ElementsAre(2, 3, 4));
  EXPECT_EQ(IValue(std::vector<double>{0.5}).toDoubleList().get(0), 0.5);
  EXPECT_EQ(IValue(std::vector<char>{0, 1}).toBoolList().get(1), true);
  EXPECT_EQ(IValue(std::vector<Tensor>{cpuTensor()}).toTensorList().size(), 1u);
  EXPECT_THAT(errorOf([&] { sizes.toDoubleList(); }), HasSubstr("float[]"));
  IValue moved = sizes, text("text");
  EXPECT_THAT(errorOf([&] { std::move(moved).toDoubleList(); }), HasSubstr("float[]"));
  EXPECT_EQ(moved.toIntVector().size(), 3u) << "what can't be taken stays";
  EXPECT_THAT(errorOf([&] { std::move(text).toIntList(); }), HasSubstr("int[]"));
  EXPECT_EQ(text.toStringRef(), "text");
  EXPECT_EQ(std::move(moved).toIntList().size(), 3u);
  EXPECT_TRUE(moved.isNone());
  EXPECT_EQ(sizes.toOptional<IntArrayRef>()->size(), 3u);
  EXPECT_FALSE(IValue().toOptional<int64_t>());
}

TEST(DictHandle, EntriesStandInTheOrderOfTheirInsertion) {
  Dict<std::string, int64_t> dict;
  for (const char* key : {"c", "a", "b"}) dict.insert(key, static_cast<int64_t>(dict.size()));
  EXPECT_THAT(dict.items(), ElementsAre(Pair("c", 0), Pair("a", 1), Pair("b", 2)));
  dict.erase(dict.find("a"));
  EXPECT_THAT(dict.items(), ElementsAre(Pair("c", 0), Pair("b", 2)));
  dict.find("b")->setValue(7);
  EXPECT_EQ(dict.at("b"), 7);
  EXPECT_EQ(dict.erase("a"), 0u);
  EXPECT_EQ(dict.erase("c"), 1u);
  EXPECT_EQ(dict.begin()->key(), "b");
}

TEST(DictHandle, InsertingSaysWhereAndWhetherNew) {
  Dict<int64_t, std::string> dict;
  EXPECT_TRUE(dict.insert(1, "a").second);
  const auto again = dict.insert(1, "b");
  EXPECT_FALSE(again.second);
  EXPECT_EQ(again.first->value(), "a");
  EXPECT_EQ(dict.insert_or_assign(1, "c").first->value(), "c");
}

TEST(DictHandle, EqualWhateverTheOrder) {
  Dict<std::string, int64_t> a, b;
  a.insert("x", 1), a.insert("y", 2);
  b.insert("y", 2), b.insert("x", 1);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, a.copy());
  EXPECT_FALSE(a.is(a.copy()));
  b.insert_or_assign("x", 3);
  EXPECT_NE(a, b);
}

TEST(DictHandle, TensorsAreKeysByIdentity) {
  Dict<Tensor, int64_t> dict;
  const Tensor key = cpuTensor();
  dict.insert(key, 1);
  EXPECT_EQ(dict.at(key), 1);
  EXPECT_FALSE(dict.contains(cpuTensor()));
  EXPECT_TRUE(parseSchema("f(Dict(Tensor, int) d) -> ()").arguments()[0].type.elements[0].canBeKey());
}

TEST(DictHandle, KeysThatAreNotThereOrCanNotBe) {
  Dict<std::string, int64_t> dict;
  EXPECT_EQ(outOfRange([&] { dict.at("a"); }), "Dict::at: there is no key \"a\"");
  Dict<IValue, IValue> any;
  EXPECT_THAT(errorOf([&] { any.insert(IValue(), 1); }),
              HasSubstr("a key of type str, int, float, bool or Tensor, got None"));
  EXPECT_TRUE(any.empty());
}

TEST(ValuesThatShareNothing, AreCompared) {
  const IValue none{Storage()}, storage{zeros({2}).storage()};
  EXPECT_TRUE(none == IValue(Storage()));
  EXPECT_TRUE(none.is(IValue(Storage())));
  EXPECT_FALSE(none == storage);
  EXPECT_FALSE(storage.is(none));
  EXPECT_TRUE(storage.is(storage));
}

}  // namespace
}  // namespace shunt
