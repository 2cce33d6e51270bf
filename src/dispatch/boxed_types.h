// Which boxed values are of a schema's type: for arguments that go in, and returns that come out. Pure functions.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/types.h>

#include <optional>
#include <string>

namespace shunt::boxed {

/// Kinds of values. What a type takes is known from the kind alone, so that a call's check is one bit for each value.
class TagSet {
 public:
  bool has(IValue::Tag tag) const { return (bits_ >> static_cast<int>(tag) & 1) != 0; }
  void add(IValue::Tag tag) { bits_ = bits_ | uint32_t{1} << static_cast<int>(tag); }

 private:
  uint32_t bits_ = 0;
  static_assert(static_cast<int>(IValue::Tag::Storage) < 32);
};

/// Of the values that an argument of this type takes. None is of optional types only.
TagSet tagsOfArgument(const Type& type);
/// Those of them that need no look at a value's elements: a call's check is that one bit but for dictionaries, tuples,
/// lists of lists and lists of strings.
TagSet sureTagsOfArgument(const Type& type);
/// What keeps the value from being of the type, elements included: "int, got Tensor as value of key "a" of Dict(str,
/// int)".
std::optional<std::string> misfit(const Type& type, const IValue& v);
/// An undefined Tensor is returned as None, too. A Tensor is a return of no other type, not of those that have no
/// values yet.
TagSet tagsOfReturn(const Type& type);

}  // namespace shunt::boxed
