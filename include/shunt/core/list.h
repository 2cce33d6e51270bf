// List<T>: a typed handle to the list that an IValue holds. Copies share the elements, as copies of the IValue do.
//
// - Lists of int, double, bool, Tensor and Tensor? are vectors, which kernels receive as views. Other lists hold
//   IValues.
// - Elements are read and written by value, through proxy references where `list[i]` or an iterator gives one.
// - A bad index throws std::out_of_range, as does pop_back() on an empty list. Iterators are unchecked.
// - Not synchronised: handles to one list must not be used by several threads at once if one of them writes.
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

/// What `list[i]` of a constant list returns: a reference if the stored element contains a T, else a value.
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

/// A proxy for one element: converts to its value; assignment writes the element. Valid until the list's length
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

/// A random-access iterator. Invalid once the list's length changes, as with std::vector.
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
  /// The iterator into the list's vector.
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
  /// What operator[] returns, for a non-const and a const list.
  using internal_reference_type = ListElementReference<T>;
  using internal_const_reference_type = typename detail::ConstElement<T>::Type;

  List() : object_(make_intrusive<Object>(Vector())) {}
  List(std::initializer_list<T> values) : List(ArrayRef<T>(values.begin(), values.size())) {}
  explicit List(ArrayRef<T> values) : List() {
    reserve(values.size());
    for (const T& v : values) push_back(v);
  }
  /// Shares the value's elements. Throws an error that names both types if it holds something else.
  explicit List(const IValue& v) : object_(detail::IValueAccess::share<Vector>(v, Element::tag, "list")) {}
  // No moves: a handle always refers to a list.
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
  /// Returns the element and leaves T() in its place.
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
  /// Inserts T(args...) before `before`.
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
  /// Appends copies of the other list's elements; `other` may be this list.
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
  /// A new list with copies of the elements.
  List copy() const {
    List out;
    out.elements() = elements();
    return out;
  }
  /// The elements as a vector.
  std::vector<T> vec() const {
    std::vector<T> out;
    out.reserve(size());
    for (const auto& e : elements()) out.push_back(Element::load(e));
    return out;
  }
  /// Whether both handles refer to one list.
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
// toIntVector() etc. throw an error that names the list's type if the value holds something else.
inline List<int64_t> IValue::toIntList() const& { return toIntVector(), List<int64_t>(*this); }
inline List<double> IValue::toDoubleList() const& { return toDoubleVector(), List<double>(*this); }
inline List<bool> IValue::toBoolList() const { return toBoolVector(), List<bool>(*this); }
inline List<Tensor> IValue::toTensorList() const { return toTensorVector(), List<Tensor>(*this); }
inline List<std::complex<double>> IValue::toComplexDoubleList() const { throwType("complex[]"); }
inline List<int64_t> IValue::toIntList() && { return toIntVector(), List<int64_t>(std::exchange(*this, IValue())); }
inline List<double> IValue::toDoubleList() && { return toDoubleVector(), List<double>(std::exchange(*this, IValue())); }

/// A List<T> handle to the same list; each access checks the type that it reads. Throws if lists of T are stored as
/// vectors and not as IValues.
template <class T>
List<T> toTypedList(const List<IValue>& list) {
  return List<T>(IValue(list));
}
/// An untyped handle to the same list. Throws if lists of T are stored as vectors.
template <class T>
List<IValue> toList(const List<T>& list) {
  return List<IValue>(IValue(list));
}

namespace boxing {

/// The schema type of a list of T: `int[]` for int64_t.
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

/// The unboxed elements of a list that isn't stored as a vector of T.
template <class T>
struct ListHolder {
  std::vector<T> values;  // lives while the kernel runs
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
