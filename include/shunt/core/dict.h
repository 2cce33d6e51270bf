// Dict<K, V>: a typed handle on the dictionary that an IValue holds. Copies share the dictionary, as copies of the
// IValue do. Not synchronised.
//
// - Keys are strings, ints, doubles, bools, or tensors, which are compared by identity.
// - Entries keep the order of their insertion.
// - Keys and values are read and written by value.
// This file also lets kernels take and return Dict, unordered_map and, as parts of other types, tuples.
#pragma once

#include <shunt/core/list.h>

#include <unordered_map>
#include <variant>

namespace shunt {

namespace detail {

using DictKey = std::variant<int64_t, double, bool, std::string, const TensorImpl*>;
/// Throws shunt::Error for a value of another type.
inline DictKey dictKeyOf(const IValue& v) {
  if (v.isString()) return v.toStringRef();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return v.toDouble();
  if (v.isTensor()) return v.toTensor().unsafeGetTensorImpl();
  SHUNT_CHECK(v.isBool(), "Dict: expected a key of type str, int, float, bool or Tensor, got ", v.tagName());
  return v.toBool();
}

struct DictEntries {
  std::vector<std::pair<IValue, IValue>> entries;
  std::unordered_map<DictKey, size_t> index;  // from a key to its index in `entries`
};

template <class T>
IValue toIValue(T v) {
  if constexpr (std::is_same_v<T, IValue>)
    return v;
  else
    return boxing::BoxTraits<T>::box(std::move(v));
}
template <class T>
T fromIValue(const IValue& v) {
  if constexpr (std::is_same_v<T, IValue>)
    return v;
  else
    return v.to<T>();
}

}  // namespace detail

/// A reference to an entry by its index. Valid until an entry is removed, and only while the dictionary lives.
template <class K, class V>
class DictEntryRef {
 public:
  DictEntryRef(detail::DictEntries* dict, size_t place) : dict_(dict), place_(place) {}
  /// Copies of the key and the value; setValue replaces the value in the dictionary.
  K key() const { return detail::fromIValue<K>(dict_->entries[place_].first); }
  V value() const { return detail::fromIValue<V>(dict_->entries[place_].second); }
  void setValue(V value) const { dict_->entries[place_].second = detail::toIValue<V>(std::move(value)); }
  bool operator==(const DictEntryRef&) const = default;

 private:
  template <class, class>
  friend class DictIterator;
  detail::DictEntries* dict_;
  size_t place_;
};

/// A forward iterator over the entries, in the order of their insertion.
template <class K, class V>
class DictIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = DictEntryRef<K, V>;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = const value_type&;

  DictIterator(detail::DictEntries* dict, size_t place) : entry_(dict, place) {}
  reference operator*() const { return entry_; }
  pointer operator->() const { return &entry_; }
  DictIterator& operator++() {
    ++entry_.place_;
    return *this;
  }
  DictIterator operator++(int) {
    const DictIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const DictIterator&) const = default;

 private:
  DictEntryRef<K, V> entry_;
};

template <class K, class V>
class Dict {
  using Object = detail::Boxed<detail::DictEntries>;

 public:
  using key_type = K;
  using mapped_type = V;
  using size_type = size_t;
  using iterator = DictIterator<K, V>;

  Dict() : object_(make_intrusive<Object>(detail::DictEntries())) {}
  /// Shares the value's dictionary. Throws shunt::Error if the value holds none.
  explicit Dict(const IValue& v)
      : object_(detail::IValueAccess::share<detail::DictEntries>(v, IValue::Tag::GenericDict, "Dict")) {}
  // No moves: each handle has a dictionary.
  Dict(const Dict&) = default;
  Dict& operator=(const Dict&) = default;
  operator IValue() const { return detail::IValueAccess::make(IValue::Tag::GenericDict, object_); }

  size_t size() const { return entries().entries.size(); }
  bool empty() const { return size() == 0; }
  iterator begin() const { return iterator(&entries(), 0); }
  iterator end() const { return iterator(&entries(), size()); }
  iterator find(const K& key) const { return iterator(&entries(), placeOf(key)); }
  bool contains(const K& key) const { return placeOf(key) != size(); }
  /// Throws std::out_of_range if there is no such key.
  V at(const K& key) const {
    const size_t place = placeOf(key);
    if (place == size()) [[unlikely]]
      detail::throwOutOfRange(detail::str("Dict::at: there is no key ", detail::toIValue<K>(key)));
    return detail::fromIValue<V>(entries().entries[place].second);
  }
  /// Does nothing if the key exists. `second` says whether it is new.
  std::pair<iterator, bool> insert(K key, V value) const { return put(std::move(key), std::move(value), false); }
  std::pair<iterator, bool> insert_or_assign(K key, V value) const {
    return put(std::move(key), std::move(value), true);
  }
  /// Removes the entry in time linear in the size. Returns the number of removed entries.
  size_t erase(const K& key) const {
    const iterator found = find(key);
    if (found == end()) return 0;
    erase(found);
    return 1;
  }
  void erase(iterator at) const {
    detail::DictEntries& d = entries();
    const size_t place = placeOf(at->key());
    d.index.erase(detail::dictKeyOf(d.entries[place].first));
    d.entries.erase(d.entries.begin() + static_cast<ptrdiff_t>(place));
    for (auto& [k, other] : d.index) other -= other > place;
  }
  void clear() const { entries() = {}; }
  void reserve(size_t n) const {
    entries().entries.reserve(n);
    entries().index.reserve(n);
  }
  /// A handle on a new dictionary with the same entries.
  Dict copy() const {
    Dict out;
    out.entries() = entries();
    return out;
  }
  /// A copy of all entries in order.
  std::vector<std::pair<K, V>> items() const {
    std::vector<std::pair<K, V>> out;
    for (const auto& entry : *this) out.emplace_back(entry.key(), entry.value());
    return out;
  }
  /// Whether both handles share one dictionary.
  bool is(const Dict& other) const { return object_ == other.object_; }
  /// Equal entries in any order. Values are compared by ==.
  friend bool operator==(const Dict& a, const Dict& b)
    requires std::equality_comparable<V>
  {
    if (a.is(b) || a.size() != b.size()) return a.is(b);
    for (const auto& entry : a) {
      const iterator found = b.find(entry.key());
      if (found == b.end() || !(found->value() == entry.value())) return false;
    }
    return true;
  }

 private:
  detail::DictEntries& entries() const { return object_->value; }
  // size() if there is no such key.
  size_t placeOf(const K& key) const {
    const detail::DictEntries& d = entries();
    const auto found = d.index.find(detail::dictKeyOf(detail::toIValue<K>(key)));
    return found == d.index.end() ? d.entries.size() : found->second;
  }
  std::pair<iterator, bool> put(K key, V value, bool assign) const {
    detail::DictEntries& d = entries();
    IValue boxed_key = detail::toIValue<K>(std::move(key)), boxed_value = detail::toIValue<V>(std::move(value));
    const auto [place, is_new] = d.index.try_emplace(detail::dictKeyOf(boxed_key), d.entries.size());
    if (is_new)
      d.entries.emplace_back(std::move(boxed_key), std::move(boxed_value));
    else if (assign)
      d.entries[place->second].second = std::move(boxed_value);
    return {iterator(&d, place->second), is_new};
  }
  intrusive_ptr<Object> object_;
};

inline Dict<IValue, IValue> IValue::toGenericDict() const { return Dict<IValue, IValue>(*this); }

/// A handle with other types on the same dictionary. Each access throws shunt::Error if the types don't fit.
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
// A tuple as an argument or a part of another type. A kernel that returns a tuple has several returns instead.
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
  // Elements may be numbers of any width; kernels take int64_t and double.
  template <class E>
  static IValue boxPart(const E& e) {
    if constexpr (std::is_arithmetic_v<E> && !std::is_same_v<E, bool>)
      return IValue(std::conditional_t<std::is_integral_v<E>, int64_t, double>(e));
    else if constexpr (std::is_same_v<E, const char*>)
      return IValue(e);
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
