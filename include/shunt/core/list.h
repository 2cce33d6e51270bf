// List<T>: a typed handle on the list that an IValue holds. Copies share the elements, as copies of the IValue do.
//
// int, double, bool, Tensor and Tensor? lists are the vectors that kernels get as views; lists of anything else hold
// IValues. Elements are read and written by value. Not synchronised.
#pragma once

#include <shunt/core/boxing.h>

#include <initializer_list>

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

}  // namespace detail

template <class T>
class List {
  using Element = detail::ListElement<T>;
  using Vector = std::vector<typename Element::Stored>;
  using Object = detail::Boxed<Vector>;

 public:
  using value_type = T;
  using size_type = size_t;

  List() : object_(make_intrusive<Object>(Vector())) {}
  List(std::initializer_list<T> values) : List(ArrayRef<T>(values.begin(), values.size())) {}
  explicit List(ArrayRef<T> values) : List() {
    reserve(values.size());
    for (const T& v : values) push_back(v);
  }
  /// Shares the value's elements; an error that names both types where it holds something else.
  explicit List(const IValue& v) : object_(detail::IValueAccess::share<Vector>(v, Element::tag, "list")) {}
  operator IValue() const { return detail::IValueAccess::make(Element::tag, object_); }

  size_t size() const { return elements().size(); }
  bool empty() const { return elements().empty(); }
  T get(size_t i) const { return Element::load(elements()[checked(i)]); }
  T operator[](size_t i) const { return get(i); }
  void set(size_t i, T v) const { elements()[checked(i)] = Element::store(std::move(v)); }
  void push_back(T v) const { elements().push_back(Element::store(std::move(v))); }
  template <class... Args>
  void emplace_back(Args&&... args) const {
    push_back(T(std::forward<Args>(args)...));
  }
  void pop_back() const {
    SHUNT_CHECK_INDEX(!empty(), "List::pop_back: the list is empty");
    elements().pop_back();
  }
  void reserve(size_t n) const { elements().reserve(n); }
  void clear() const { elements().clear(); }
  /// A list of its own with the same elements.
  List copy() const {
    List out;
    out.elements() = elements();
    return out;
  }
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
  size_t checked(size_t i) const {
    SHUNT_CHECK_INDEX(i < size(), "List: index ", i, " is out of range for a list of length ", size());
    return i;
  }
  intrusive_ptr<Object> object_;
};

inline List<IValue> IValue::toList() const { return List<IValue>(*this); }

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
