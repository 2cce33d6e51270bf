// List<T>: a typed handle on the list that an IValue holds. Copies share the elements, as copies of the IValue do.
//
// int, double, bool, Tensor and Tensor? lists are the vectors that kernels get as views; lists of anything else hold
// IValues. Elements are read and written by value; what `list[i]` and iterators give are references that do so. As
// those of std::vector, functions that take a position throw std::out_of_range. Not synchronised.
#pragma once

#include <shunt/core/boxing.h>

#include <compare>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <stdexcept>

namespace shunt {

namespace detail {

/// How the elements of a List<T> are stored.
template <class T>
struct ListElement {
  using Stored = IValue;
  static constexpr IValue::Tag tag = IValue::Tag::GenericList;
  static Stored store(T v) { return boxing::BoxTraits<T>::box(std::move(v)); }
  static T load(const Stored& v) { return v.to<T>(); }
};
template <>
struct ListElement<IValue> {
  using Stored = IValue;
  static constexpr IValue::Tag tag = IValue::Tag::GenericList;
  static Stored store(IValue v) { return v; }
  static IValue load(const Stored& v) { return v; }
};
template <class T, class S, IValue::Tag kTag>
struct PlainElement {
  using Stored = S;
  static constexpr IValue::Tag tag = kTag;
  static Stored store(T v) { return Stored(std::move(v)); }
  static T load(const Stored& v) { return T(v); }
};
template <>
struct ListElement<int64_t> : PlainElement<int64_t, int64_t, IValue::Tag::IntList> {};
template <>
struct ListElement<double> : PlainElement<double, double, IValue::Tag::DoubleList> {};
template <>
struct ListElement<bool> : PlainElement<bool, char, IValue::Tag::BoolList> {};
template <>
struct ListElement<Tensor> : PlainElement<Tensor, Tensor, IValue::Tag::TensorList> {};
template <>
struct ListElement<std::optional<Tensor>>
    : PlainElement<std::optional<Tensor>, std::optional<Tensor>, IValue::Tag::OptionalTensorList> {};

struct IValueAccess {
  /// An IValue that shares `object`, which is what values of this tag hold.
  template <class T>
  static IValue make(IValue::Tag tag, intrusive_ptr<Boxed<T>> object) {
    IValue v;
    v.tag_ = tag;
    v.setObject(std::move(object));
    return v;
  }
  template <class T>
  static intrusive_ptr<Boxed<T>> share(const IValue& v, IValue::Tag tag, const char* name) {
    v.expect(tag, name);
    return intrusive_ptr<Boxed<T>>::retainFrom(static_cast<Boxed<T>*>(v.payload_.object.get()));
  }
};

[[noreturn]] SHUNT_COLD inline void throwOutOfRange(const std::string& what) { throw std::out_of_range(what); }

/// What `list[i]` of a constant list is: a reference where the element is stored as what it is read as.
template <class T>
struct ConstElement {
  using Type = T;
  template <class Stored>
  static T get(const Stored& v) {
    return ListElement<T>::load(v);
  }
};
template <>
struct ConstElement<Tensor> {
  using Type = const Tensor&;
  static Type get(const Tensor& v) { return v; }
};
template <>
struct ConstElement<IValue> {
  using Type = const IValue&;
  static Type get(const IValue& v) { return v; }
};
template <>
struct ConstElement<std::string> {
  using Type = const std::string&;
  static Type get(const IValue& v) { return v.toStringRef(); }
};
template <>
struct ConstElement<std::optional<std::string>> {
  using Type = std::optional<std::reference_wrapper<const std::string>>;
  static Type get(const IValue& v) { return v.isNone() ? Type() : Type(std::cref(v.toStringRef())); }
};

}  // namespace detail

/// An element in its list: converts to its value, and assignment writes the element. Valid until the list's length
/// changes.
template <class T>
class ListElementReference {
  using Element = detail::ListElement<T>;
  using Stored = typename Element::Stored;

 public:
  explicit ListElementReference(Stored& element) : element_(&element) {}
  ListElementReference(const ListElementReference&) = default;
  T get() const { return Element::load(*element_); }
  operator T() const { return get(); }
  ListElementReference& operator=(T value) {
    *element_ = Element::store(std::move(value));
    return *this;
  }
  ListElementReference& operator=(const ListElementReference& other) {
    *element_ = Stored(*other.element_);
    return *this;
  }
  friend void swap(ListElementReference&& a, ListElementReference&& b) { std::swap(*a.element_, *b.element_); }
  friend bool operator==(const ListElementReference& a, const T& b)
    requires std::equality_comparable<T>
  {
    return a.get() == b;
  }
  friend bool operator==(const ListElementReference& a, const ListElementReference& b)
    requires std::equality_comparable<T>
  {
    return a.get() == b.get();
  }
  friend auto operator<=>(const ListElementReference& a, const T& b)
    requires std::three_way_comparable<T>
  {
    return a.get() <=> b;
  }
  friend auto operator<=>(const ListElementReference& a, const ListElementReference& b)
    requires std::three_way_comparable<T>
  {
    return a.get() <=> b.get();
  }

 private:
  Stored* element_;
};

/// Random access; as std::vector's, invalid once the list's length changes.
template <class T>
class ListIterator {
  using Position = typename std::vector<typename detail::ListElement<T>::Stored>::iterator;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = ListElementReference<T>;

  ListIterator() = default;
  explicit ListIterator(Position position) : position_(position) {}
  /// The position that it refers to.
  Position position() const { return position_; }
  reference operator*() const { return reference(*position_); }
  reference operator[](difference_type n) const { return reference(position_[n]); }
  ListIterator& operator+=(difference_type n) {
    position_ += n;
    return *this;
  }
  ListIterator& operator-=(difference_type n) { return *this += -n; }
  ListIterator& operator++() { return *this += 1; }
  ListIterator& operator--() { return *this += -1; }
  ListIterator operator++(int) { return ListIterator(position_++); }
  ListIterator operator--(int) { return ListIterator(position_--); }
  friend ListIterator operator+(ListIterator it, difference_type n) { return it += n; }
  friend ListIterator operator+(difference_type n, ListIterator it) { return it += n; }
  friend ListIterator operator-(ListIterator it, difference_type n) { return it -= n; }
  friend difference_type operator-(const ListIterator& a, const ListIterator& b) { return a.position_ - b.position_; }
  bool operator==(const ListIterator&) const = default;
  auto operator<=>(const ListIterator&) const = default;

 private:
  Position position_;
};

template <class T>
class List {
  using Element = detail::ListElement<T>;
  using Vector = std::vector<typename Element::Stored>;
  using Object = detail::Boxed<Vector>;

 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = ListIterator<T>;
  using internal_reference_type = ListElementReference<T>;
  using internal_const_reference_type = typename detail::ConstElement<T>::Type;

  List() : object_(make_intrusive<Object>(Vector())) {}
  List(std::initializer_list<T> values) : List(ArrayRef<T>(values.begin(), values.size())) {}
  explicit List(ArrayRef<T> values) : List() {
    reserve(values.size());
    for (const T& v : values) push_back(v);
  }
  /// Shares the value's elements; an error that names both types where it holds something else.
  explicit List(const IValue& v) : object_(detail::IValueAccess::share<Vector>(v, Element::tag, "list")) {}
  // No moves: a handle always has a list.
  List(const List&) = default;
  List& operator=(const List&) = default;
  operator IValue() const { return detail::IValueAccess::make(Element::tag, object_); }

  size_t size() const { return elements().size(); }
  bool empty() const { return elements().empty(); }
  T get(size_t i) const { return Element::load(at(i)); }
  ListElementReference<T> operator[](size_t i) { return ListElementReference<T>(at(i)); }
  typename detail::ConstElement<T>::Type operator[](size_t i) const { return detail::ConstElement<T>::get(at(i)); }
  /// Replaces an element; throws std::out_of_range.
  void set(size_t i, T v) const { at(i) = Element::store(std::move(v)); }
  /// The element, in whose place an empty one stays.
  T extract(size_t i) const {
    T out = get(i);
    at(i) = Element::store(T());
    return out;
  }

  iterator begin() const { return iterator(elements().begin()); }
  iterator end() const { return iterator(elements().end()); }
  iterator insert(iterator before, T v) const {
    return iterator(elements().insert(before.position(), Element::store(std::move(v))));
  }
  /// Makes an element in front of another.
  template <class... Args>
  iterator emplace(iterator before, Args&&... args) const {
    return insert(before, T(std::forward<Args>(args)...));
  }
  iterator erase(iterator at) const { return iterator(elements().erase(at.position())); }
  iterator erase(iterator first, iterator last) const {
    return iterator(elements().erase(first.position(), last.position()));
  }
  void push_back(T v) const { elements().push_back(Element::store(std::move(v))); }
  template <class... Args>
  void emplace_back(Args&&... args) const {
    push_back(T(std::forward<Args>(args)...));
  }
  /// Adds the other list's elements at the end.
  void append(const List& other) const {
    const Vector more = other.elements();
    elements().insert(elements().end(), more.begin(), more.end());
  }
  void pop_back() const {
    if (empty()) detail::throwOutOfRange("List::pop_back: the list is empty");
    elements().pop_back();
  }
  void resize(size_t n) const { resize(n, T()); }
  void resize(size_t n, const T& v) const { elements().resize(n, Element::store(v)); }
  void reserve(size_t n) const { elements().reserve(n); }
  void clear() const { elements().clear(); }
  /// A list of its own with the same elements.
  List copy() const {
    List out;
    out.elements() = elements();
    return out;
  }
  /// A copy of the elements.
  std::vector<T> vec() const {
    std::vector<T> out;
    out.reserve(size());
    for (const auto& e : elements()) out.push_back(Element::load(e));
    return out;
  }
  /// Whether both are handles on one list.
  bool is(const List& other) const { return object_ == other.object_; }
  size_t use_count() const { return object_.use_count(); }
  friend bool operator==(const List& a, const List& b)
    requires std::equality_comparable<T>
  {
    return a.is(b) || a.vec() == b.vec();
  }

 private:
  Vector& elements() const { return object_->value; }
  typename Element::Stored& at(size_t i) const {
    if (i >= size()) [[unlikely]]
      detail::throwOutOfRange(detail::str("List: index ", i, " is out of range for a list of length ", size()));
    return elements()[i];
  }
  intrusive_ptr<Object> object_;
};

inline List<IValue> IValue::toList() const { return List<IValue>(*this); }
// The vectors' functions name the list's type where the value is something else.
inline List<int64_t> IValue::toIntList() const& { return toIntVector(), List<int64_t>(*this); }
inline List<double> IValue::toDoubleList() const& { return toDoubleVector(), List<double>(*this); }
inline List<bool> IValue::toBoolList() const { return toBoolVector(), List<bool>(*this); }
inline List<Tensor> IValue::toTensorList() const { return toTensorVector(), List<Tensor>(*this); }
inline List<std::complex<double>> IValue::toComplexDoubleList() const { throwType("complex[]"); }
inline List<int64_t> IValue::toIntList() && { return toIntVector(), List<int64_t>(std::exchange(*this, IValue())); }
inline List<double> IValue::toDoubleList() && { return toDoubleVector(), List<double>(std::exchange(*this, IValue())); }

/// A handle of another type on the same list; each access checks the type it reads. An error where its elements are
/// stored otherwise.
template <class T>
List<T> toTypedList(const List<IValue>& list) {
  return List<T>(IValue(list));
}
/// The list with elements of any type, shared with the typed one.
template <class T>
List<IValue> toList(const List<T>& list) {
  return List<IValue>(IValue(list));
}

namespace boxing {

template <class T>
Type listTypeOf() {
  return listOf(BoxTraits<T>::schemaType());
}

template <class T>
struct BoxTraits<List<T>> {
  static Type schemaType() { return listTypeOf<T>(); }
  static IValue box(const List<T>& v) { return v; }
  static List<T> unbox(IValue& v) { return List<T>(v); }
};

// Lists without a vector type of their own: elements are unboxed into storage that lives while the kernel runs.
template <class T>
struct ListHolder {
  std::vector<T> values;
  operator ArrayRef<T>() const { return values; }
  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }
};
template <class T>
struct BoxTraits<ArrayRef<T>> {
  static Type schemaType() { return listTypeOf<T>(); }
  static IValue box(const ArrayRef<T>& v) { return List<T>(v); }
  static ListHolder<T> unbox(IValue& v) { return {List<T>(v).vec()}; }
};
template <class T, size_t N>
struct BoxTraits<std::array<T, N>> {
  static Type schemaType() {
    Type t = listTypeOf<T>();
    t.fixed_size = N;
    return t;
  }
  static IValue box(const std::array<T, N>& v) { return List<T>(ArrayRef<T>(v)); }
  static std::array<T, N> unbox(IValue& v) {
    const std::vector<T> from = List<T>(v).vec();
    SHUNT_CHECK(from.size() == N, "expected a list of ", N, " elements, got ", from.size());
    std::array<T, N> out{};
    std::copy(from.begin(), from.end(), out.begin());
    return out;
  }
};

}  // namespace boxing
}  // namespace shunt
