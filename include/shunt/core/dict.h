// Dict<K, V>: a typed handle on the dictionary that an IValue holds. Copies share it, as copies of the IValue do.
//
// Keys are strings, ints, doubles or bools; entries stand in the order of their insertion. Keys and values are read and
// written by value. Not synchronised. Here, too, are the types made of others that kernels may have: Dict,
// unordered_map and tuples within arguments and returns.
#pragma once

#include <shunt/core/list.h>

#include <unordered_map>
#include <variant>

namespace shunt {

namespace detail {

using DictKey = std::variant<int64_t, double, bool, std::string>;
inline DictKey dictKeyOf(const IValue& v) {
  if (v.isString()) return v.toStringRef();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return v.toDouble();
  SHUNT_CHECK(v.isBool(), "Dict: expected a key of type str, int, float or bool, got ", v.tagName());
  return v.toBool();
}

struct DictEntries {
  std::vector<std::pair<IValue, IValue>> entries;
  std::unordered_map<DictKey, size_t> index;  // key to its place in `entries`
};

}  // namespace detail

template <class K, class V>
class Dict {
  using Object = detail::Boxed<detail::DictEntries>;
  template <class T>
  static IValue toIValue(T v) {
    if constexpr (std::is_same_v<T, IValue>)
      return v;
    else
      return boxing::BoxTraits<T>::box(std::move(v));
  }
  template <class T>
  static T fromIValue(const IValue& v) {
    if constexpr (std::is_same_v<T, IValue>)
      return v;
    else
      return v.to<T>();
  }

 public:
  Dict() : object_(make_intrusive<Object>(detail::DictEntries())) {}
  explicit Dict(const IValue& v)
      : object_(detail::IValueAccess::share<detail::DictEntries>(v, IValue::Tag::GenericDict, "Dict")) {}
  operator IValue() const { return detail::IValueAccess::make(IValue::Tag::GenericDict, object_); }

  size_t size() const { return object_->value.entries.size(); }
  bool empty() const { return size() == 0; }
  bool contains(const K& key) const { return find(key) != nullptr; }
  /// Throws IndexError where there is no such key.
  V at(const K& key) const {
    const IValue* found = find(key);
    SHUNT_CHECK_INDEX(found != nullptr, "Dict::at: there is no such key");
    return fromIValue<V>(*found);
  }
  /// Does nothing where the key is there; returns whether it was not.
  bool insert(K key, V value) const { return put(std::move(key), std::move(value), false); }
  void insert_or_assign(K key, V value) const { put(std::move(key), std::move(value), true); }
  /// Returns how many entries were removed.
  size_t erase(const K& key) const {
    detail::DictEntries& d = object_->value;
    const auto found = d.index.find(detail::dictKeyOf(toIValue<K>(key)));
    if (found == d.index.end()) return 0;
    const size_t place = found->second;
    d.index.erase(found);
    d.entries.erase(d.entries.begin() + static_cast<ptrdiff_t>(place));
    for (auto& [k, at] : d.index) at -= at > place;
    return 1;
  }
  void clear() const { object_->value = {}; }
  std::vector<std::pair<K, V>> items() const {
    std::vector<std::pair<K, V>> out;
    for (const auto& [k, v] : object_->value.entries) out.emplace_back(fromIValue<K>(k), fromIValue<V>(v));
    return out;
  }
  bool is(const Dict& other) const { return object_ == other.object_; }

 private:
  const IValue* find(const K& key) const {
    const detail::DictEntries& d = object_->value;
    const auto found = d.index.find(detail::dictKeyOf(toIValue<K>(key)));
    return found == d.index.end() ? nullptr : &d.entries[found->second].second;
  }
  bool put(K key, V value, bool assign) const {
    detail::DictEntries& d = object_->value;
    IValue boxed_key = toIValue<K>(std::move(key));
    const auto [place, is_new] = d.index.try_emplace(detail::dictKeyOf(boxed_key), d.entries.size());
    if (is_new)
      d.entries.emplace_back(std::move(boxed_key), toIValue<V>(std::move(value)));
    else if (assign)
      d.entries[place->second].second = toIValue<V>(std::move(value));
    return is_new;
  }
  intrusive_ptr<Object> object_;
};

inline Dict<IValue, IValue> IValue::toGenericDict() const { return Dict<IValue, IValue>(*this); }

/// A handle of another type on the same dictionary; each access checks the types it reads.
template <class K, class V>
Dict<K, V> toTypedDict(const Dict<IValue, IValue>& dict) {
  return Dict<K, V>(IValue(dict));
}

namespace boxing {

template <class K, class V>
struct BoxTraits<Dict<K, V>> {
  static Type schemaType() { return Type::dict(BoxTraits<K>::schemaType(), BoxTraits<V>::schemaType()); }
  static IValue box(const Dict<K, V>& v) { return v; }
  static Dict<K, V> unbox(IValue& v) { return Dict<K, V>(v); }
};
// As an argument or a part of another type; as what a kernel returns a tuple is several returns.
template <class... T>
struct BoxTraits<std::tuple<T...>> {
  static Type schemaType() { return Type::tuple({BoxTraits<T>::schemaType()...}); }
  static IValue box(const std::tuple<T...>& v) {
    std::vector<IValue> parts;
    parts.reserve(sizeof...(T));
    std::apply([&](const T&... e) { (parts.push_back(boxPart(e)), ...); }, v);
    using Parts = detail::Boxed<std::vector<IValue>>;
    return detail::IValueAccess::make(IValue::Tag::Tuple, make_intrusive<Parts>(std::move(parts)));
  }
  static std::tuple<T...> unbox(IValue& v) {
    const ArrayRef<IValue> parts = v.toTupleElements();
    SHUNT_CHECK(parts.size() == sizeof...(T), "expected a tuple of ", sizeof...(T), " values, got ", parts.size());
    return unboxParts(parts, std::index_sequence_for<T...>());
  }

 private:
  // A number of any width may be put in; kernels take int64_t and double.
  template <class E>
  static IValue boxPart(const E& e) {
    if constexpr (std::is_arithmetic_v<E> && !std::is_same_v<E, bool>)
      return IValue(std::conditional_t<std::is_integral_v<E>, int64_t, double>(e));
    else
      return BoxTraits<E>::box(e);
  }
  template <size_t... I>
  static std::tuple<T...> unboxParts([[maybe_unused]] ArrayRef<IValue> parts, std::index_sequence<I...>) {
    return std::tuple<T...>(parts[I].template to<T>()...);
  }
};
template <class K, class V>
struct BoxTraits<std::unordered_map<K, V>> {
  static Type schemaType() { return BoxTraits<Dict<K, V>>::schemaType(); }
  static IValue box(const std::unordered_map<K, V>& v) {
    Dict<K, V> out;
    for (const auto& [key, value] : v) out.insert(key, value);
    return out;
  }
  static std::unordered_map<K, V> unbox(IValue& v) {
    std::unordered_map<K, V> out;
    for (auto& [key, value] : Dict<K, V>(v).items()) out.emplace(std::move(key), std::move(value));
    return out;
  }
};

}  // namespace boxing
}  // namespace shunt
