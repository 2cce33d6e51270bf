// How generated nodes keep what is not a tensor: owned copies of lists and strings, and views of them for the formulas;
// and how their apply() makes its list of gradients. Pure functions of values.
#pragma once

#include "kernels/autograd/formulas.h"

#include <shunt/autograd/node.h>
#include <shunt/autograd/saved_variable.h>
#include <shunt/autograd/variable_utils.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::wrappers {

template <class T>
std::vector<T> owned(ArrayRef<T> list) {
  return list.vec();
}
template <class T>
std::optional<std::vector<T>> owned(const std::optional<ArrayRef<T>>& list) {
  return list ? std::optional(list->vec()) : std::nullopt;
}
inline std::string owned(std::string_view text) { return std::string(text); }
inline std::optional<std::string> owned(const std::optional<std::string_view>& text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

template <class T>
ArrayRef<T> viewOf(const std::vector<T>& list) {
  return list;
}
template <class T>
std::optional<ArrayRef<T>> viewOf(const std::optional<std::vector<T>>& list) {
  return list ? std::optional<ArrayRef<T>>(*list) : std::nullopt;
}
inline std::string_view viewOf(const std::string& text) { return text; }
inline std::optional<std::string_view> viewOf(const std::optional<std::string>& text) {
  return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

/// Formulas see an absent optional tensor as the operator saw it.
inline std::optional<Tensor> unpackOptional(const autograd::SavedVariable& saved) {
  Tensor t = saved.unpack();
  return t.defined() ? std::optional<Tensor>(std::move(t)) : std::nullopt;
}

}  // namespace shunt::wrappers

namespace shunt::autograd {

/// What a formula has just computed.
inline void copy_range(variable_list& out, IndexRange range, Tensor&& t) { out[range.first] = std::move(t); }

/// n undefined gradients in the memory of a list that apply was given and has read: a backward pass hands one list from
/// node to node.
inline variable_list undefined_grads(size_t n, variable_list&& read) {
  variable_list grads = std::move(read);
  grads.clear();
  grads.resize(n);
  return grads;
}

}  // namespace shunt::autograd
