// IValue: one value of any type that a schema can name, in sixteen bytes: a tag and a payload. Stack: the arguments or
// returns of a boxed call.
//
// A value type, not synchronised.
// - Copies share lists, dictionaries, tuples, strings and tensors by reference count: all see a write through one.
// - A moved-from value is None.
// - Enumerations (dtype, layout, memory format) are ints.
// - A Scalar is stored as the number that it holds.
// - None stands for every absent optional.
#pragma once

#include <shunt/core/types.h>
#include <shunt/tensor/tensor.h>

#include <array>
#include <complex>
#include <cstring>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shunt {

class IValue;
namespace ivalue {
struct Future;
}
template <class T>
class List;
template <class K, class V>
class Dict;
/// The arguments of a boxed call before it, its returns after it. The last one is on top.
using Stack = std::vector<IValue>;

namespace detail {
template <class T>
inline constexpr bool kBoxedByTraits = false;
template <class T>
inline constexpr bool kBoxedByTraits<std::vector<T>> = true;
template <class T>
inline constexpr bool kBoxedByTraits<ArrayRef<T>> = true;
template <class T, size_t N>
inline constexpr bool kBoxedByTraits<std::array<T, N>> = true;
template <class K, class V>
inline constexpr bool kBoxedByTraits<std::unordered_map<K, V>> = true;
template <class... T>
inline constexpr bool kBoxedByTraits<std::tuple<T...>> = true;

struct IValueAccess;  // list.h: gives List and Dict access to the shared object
template <class T>
struct Boxed : intrusive_ptr_target {
  explicit Boxed(T v) : value(std::move(v)) {}
  T value;
};
}  // namespace detail

class SHUNT_API IValue {
 public:
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // g++ 12 warns that Tag::TensorList hides the type
  /// The kinds of values. The order matters: lists are neighbours, and all kinds from Generator on are shared objects.
  enum class Tag : uint8_t {
    None,
    Tensor,
    Double,
    Int,
    Bool,
    Device,
    Generator,
    String,
    IntList,
    DoubleList,
    BoolList,
    TensorList,
    OptionalTensorList,
    GenericList,
    GenericDict,
    Tuple,
    Storage,
  };
#pragma GCC diagnostic pop

  IValue() : tag_(Tag::None) { payload_.i = 0; }
  IValue(std::nullopt_t) : IValue() {}
  IValue(shunt::Tensor t) : tag_(Tag::Tensor) { new (&payload_.tensor) shunt::Tensor(std::move(t)); }
  IValue(double v) : tag_(Tag::Double) { payload_.d = v; }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  IValue(T v) : tag_(Tag::Int) {
    payload_.i = static_cast<int64_t>(v);
  }
  template <std::same_as<bool> T>
  IValue(T v) : tag_(Tag::Bool) {
    payload_.i = v;
  }
  IValue(shunt::Device d) : tag_(Tag::Device) { payload_.device = d; }
  IValue(ScalarType t) : IValue(static_cast<int64_t>(t)) {}
  IValue(Layout l) : IValue(static_cast<int64_t>(l)) {}
  IValue(MemoryFormat f) : IValue(static_cast<int64_t>(f)) {}
  IValue(const Scalar& s);
  IValue(shunt::Generator g) : tag_(Tag::Generator) { setObject(g.impl()); }
  IValue(shunt::Storage s) : tag_(Tag::Storage) { setObject(intrusive_ptr<StorageImpl>(std::move(s))); }
  /// Share the string or the tuple with the caller.
  IValue(intrusive_ptr<detail::Boxed<std::string>> s) : tag_(Tag::String) { setObject(std::move(s)); }
  IValue(intrusive_ptr<detail::Boxed<std::vector<IValue>>> parts) : tag_(Tag::Tuple) { setObject(std::move(parts)); }
  IValue(std::string s) : IValue(Tag::String, std::move(s)) {}
  IValue(const char* s) : IValue(std::string(s)) {}
  IValue(std::string_view s) : IValue(std::string(s)) {}
  IValue(std::vector<int64_t> v) : IValue(Tag::IntList, std::move(v)) {}
  IValue(IntArrayRef v) : IValue(v.vec()) {}
  IValue(std::vector<double> v) : IValue(Tag::DoubleList, std::move(v)) {}
  IValue(std::vector<char> bools) : IValue(Tag::BoolList, std::move(bools)) {}
  IValue(std::vector<shunt::Tensor> v) : IValue(Tag::TensorList, std::move(v)) {}
  IValue(std::vector<std::optional<shunt::Tensor>> v) : IValue(Tag::OptionalTensorList, std::move(v)) {}
  IValue(std::vector<IValue> v) : IValue(Tag::GenericList, std::move(v)) {}
  template <class T>
  IValue(const std::optional<T>& v) : IValue() {
    if (v) *this = IValue(*v);
  }

  /// Arrays, maps, tuples, and lists without a constructor above, converted by BoxTraits. Needs `shunt/core/dict.h`.
  template <class T>
    requires(detail::kBoxedByTraits<T>)
  IValue(const T& v);

  IValue(const IValue& o) : tag_(o.tag_) { copyFrom(o); }
  IValue(IValue&& o) noexcept { moveFrom(o); }
  IValue& operator=(const IValue& o) {
    if (this != &o) {
      clear();
      tag_ = o.tag_;
      copyFrom(o);
    }
    return *this;
  }
  IValue& operator=(IValue&& o) noexcept {
    if (this != &o) {
      clear();
      moveFrom(o);
    }
    return *this;
  }
  ~IValue() { clear(); }

  /// The kind of the held value.
  Tag tag() const { return tag_; }
  /// The schema type of such values. Generic lists, dictionaries and tuples have no element types; None is Tensor?.
  Type type() const;
  /// The type's name for messages: "int", "Tensor[]", "None".
  const char* tagName() const;
  bool isNone() const { return tag_ == Tag::None; }
  bool isTensor() const { return tag_ == Tag::Tensor; }
  bool isDouble() const { return tag_ == Tag::Double; }
  bool isInt() const { return tag_ == Tag::Int; }
  bool isBool() const { return tag_ == Tag::Bool; }
  bool isScalar() const { return isDouble() || isInt() || isBool(); }
  bool isString() const { return tag_ == Tag::String; }
  bool isDevice() const { return tag_ == Tag::Device; }
  bool isGenerator() const { return tag_ == Tag::Generator; }
  bool isStorage() const { return tag_ == Tag::Storage; }
  bool isIntList() const { return tag_ == Tag::IntList; }
  bool isDoubleList() const { return tag_ == Tag::DoubleList; }
  bool isBoolList() const { return tag_ == Tag::BoolList; }
  bool isTensorList() const { return tag_ == Tag::TensorList; }
  bool isOptionalTensorList() const { return tag_ == Tag::OptionalTensorList; }
  bool isList() const { return tag_ >= Tag::IntList && tag_ <= Tag::GenericList; }
  bool isGenericDict() const { return tag_ == Tag::GenericDict; }
  bool isTuple() const { return tag_ == Tag::Tuple; }
  // Kinds that only PyTorch has: no value has one, and reading one throws shunt::Error.
  bool isComplexDouble() const { return false; }
  bool isComplexDoubleList() const { return false; }
  bool isBlob() const { return false; }
  bool isFuture() const { return false; }
  bool isObject() const { return false; }
  bool isStream() const { return false; }
  std::complex<double> toComplexDouble() const { throwType("complex"); }
  std::vector<std::complex<double>> toComplexDoubleVector() const { throwType("complex[]"); }
  List<std::complex<double>> toComplexDoubleList() const;
  template <class Future = ivalue::Future>
  intrusive_ptr<Future> toFuture() const {
    throwType("Future");
  }

  // Each of the following throws shunt::Error with the wanted and the held type if the value has another kind.
  shunt::Tensor& toTensor() {
    expect(Tag::Tensor, "Tensor");
    return payload_.tensor;
  }
  const shunt::Tensor& toTensor() const {
    expect(Tag::Tensor, "Tensor");
    return payload_.tensor;
  }
  /// Also from an int or bool.
  double toDouble() const;
  /// Also from a bool.
  int64_t toInt() const;
  bool toBool() const {
    expect(Tag::Bool, "bool");
    return payload_.i != 0;
  }
  /// From a double, int or bool.
  Scalar toScalar() const;
  shunt::Device toDevice() const {
    expect(Tag::Device, "Device");
    return payload_.device;
  }
  /// Further handles on the shared object.
  shunt::Generator toGenerator() const;
  shunt::Storage toStorage() const;
  /// The string, and below the lists: references into the shared object, valid while it lives.
  const std::string& toStringRef() const { return list<std::string>(Tag::String, "str"); }
  std::vector<int64_t>& toIntVector() const { return list<std::vector<int64_t>>(Tag::IntList, "int[]"); }
  /// A copy.
  std::vector<int64_t> toDimVector() const { return toIntVector(); }
  std::vector<double>& toDoubleVector() const { return list<std::vector<double>>(Tag::DoubleList, "float[]"); }
  std::vector<char>& toBoolVector() const { return list<std::vector<char>>(Tag::BoolList, "bool[]"); }
  std::vector<shunt::Tensor>& toTensorVector() const {
    return list<std::vector<shunt::Tensor>>(Tag::TensorList, "Tensor[]");
  }
  /// An element without a tensor is nullopt.
  std::vector<std::optional<shunt::Tensor>>& toOptionalTensorVector() const {
    return list<std::vector<std::optional<shunt::Tensor>>>(Tag::OptionalTensorList, "Tensor?[]");
  }
  /// A list without a vector type above: its elements may have any type.
  std::vector<IValue>& toGenericVector() const { return list<std::vector<IValue>>(Tag::GenericList, "list"); }
  /// A view of the elements of a generic list, or of a tuple.
  ArrayRef<IValue> toListRef() const;
  ArrayRef<IValue> toTupleElements() const { return list<std::vector<IValue>>(Tag::Tuple, "tuple"); }
  /// A view of a tuple with c10's names: toTupleRef().elements().
  struct TupleRef {
    ArrayRef<IValue> parts;
    /// Valid while the tuple lives.
    const ArrayRef<IValue>& elements() const { return parts; }
  };
  /// Throws if the value is no tuple.
  TupleRef toTupleRef() const;
  /// The value as a kernel gets it as an argument of type T. Throws if it can't be converted. Needs
  /// `shunt/core/boxing.h`, and `list.h` or `dict.h` for those types.
  template <class T>
  T to() const;
  /// Handles on the shared contents. Need `shunt/core/list.h` or `shunt/core/dict.h`.
  List<IValue> toList() const;
  List<int64_t> toIntList() const&;
  List<int64_t> toIntList() &&;
  List<double> toDoubleList() const&;
  List<double> toDoubleList() &&;
  List<bool> toBoolList() const;
  List<shunt::Tensor> toTensorList() const;
  Dict<IValue, IValue> toGenericDict() const;
  /// nullopt for None, otherwise `to<T>()`.
  template <class T>
  std::optional<T> toOptional() const {
    return isNone() ? std::nullopt : std::optional<T>(to<T>());
  }

  // Tensors are compared element by element, so == throws if they have several elements.
  friend SHUNT_API bool operator==(const IValue& a, const IValue& b);
  /// A bool. For two defined tensors: a tensor of bools, from aten::eq.
  IValue equals(const IValue& other) const;
  /// Whether both are one object; for unshared values: whether they are equal. None is the same as an undefined tensor.
  bool is(const IValue& other) const;
  /// Whether both share one object, or are tensors with the same storage.
  bool isAliasOf(const IValue& other) const;
  /// Tensors, generators and storages are hashed by identity. Throws shunt::Error for lists and dictionaries.
  size_t hash() const;
  void swap(IValue& other) noexcept { std::swap(*this, other); }
  /// Whether the value is shared by reference count and not null.
  bool isPtrType() const;
  /// The shared object's address. Throws shunt::Error for unshared values.
  const void* internalToPointer() const;
  TensorImpl* unsafeToTensorImpl() const { return toTensor().unsafeGetTensorImpl(); }
  /// The number of references to the shared object; 1 for unshared values.
  size_t use_count() const;
  /// Hashes the shared object's address. Throws shunt::Error for unshared values.
  struct HashOfIdentity {
    SHUNT_API size_t operator()(const IValue& v) const;
  };
  /// Compares by `is`.
  struct EqualIdentity {
    bool operator()(const IValue& a, const IValue& b) const { return a.is(b); }
  };
  /// A set of shared values without repeated objects; getSubValues fills it.
  using HashAliasedIValues = std::unordered_set<IValue, HashOfIdentity, EqualIdentity>;
  /// Adds the tensors, tuples, dictionaries, and lists of tensors or generic values in this value, itself included.
  void getSubValues(HashAliasedIValues& values) const;

 private:
  friend struct detail::IValueAccess;
  union Payload {
    Payload() {}
    ~Payload() {}
    int64_t i;
    double d;
    shunt::Device device;
    shunt::Tensor tensor;
    intrusive_ptr<intrusive_ptr_target> object;
  };
  static_assert(sizeof(Payload) == sizeof(int64_t));
  template <class T>
  IValue(Tag tag, T v) : tag_(tag) {
    setObject(make_intrusive<detail::Boxed<T>>(std::move(v)));
  }
  template <class T>
  void setObject(intrusive_ptr<T> p) {
    new (&payload_.object) intrusive_ptr<intrusive_ptr_target>(std::move(p));
  }
  template <class T>
  T& list(Tag tag, const char* name) const {
    expect(tag, name);
    return static_cast<detail::Boxed<T>*>(payload_.object.get())->value;
  }
  bool holdsObject() const { return tag_ >= Tag::Generator; }
  void expect(Tag tag, const char* name) const {
    if (tag_ != tag) [[unlikely]]
      throwType(name);
  }
  [[noreturn]] void throwType(const char* wanted) const;
  void clear() noexcept {
    if (tag_ == Tag::Tensor)
      payload_.tensor.~Tensor();
    else if (holdsObject())
      payload_.object.~intrusive_ptr();
    tag_ = Tag::None;
  }
  void copyFrom(const IValue& o) {
    if (tag_ == Tag::Tensor)
      new (&payload_.tensor) shunt::Tensor(o.payload_.tensor);
    else if (holdsObject())
      new (&payload_.object) intrusive_ptr<intrusive_ptr_target>(o.payload_.object);
    else
      payload_.i = o.payload_.i;
  }
  // Every payload is one word that may be moved as bytes with any tag.
  void moveFrom(IValue& o) noexcept {
    std::memcpy(static_cast<void*>(&payload_), static_cast<const void*>(&o.payload_), sizeof payload_);
    tag_ = std::exchange(o.tag_, Tag::None);
  }

  Payload payload_;
  Tag tag_;
};

inline IValue::TupleRef IValue::toTupleRef() const { return {toTupleElements()}; }
inline ArrayRef<IValue> IValue::toListRef() const { return toGenericVector(); }

SHUNT_API std::ostream& operator<<(std::ostream& out, const IValue& v);

/// Push to and pop from the top of the stack. pop: the stack must not be empty.
inline void push(Stack& stack, IValue v) { stack.push_back(std::move(v)); }
inline IValue pop(Stack& stack) {
  IValue v = std::move(stack.back());
  stack.pop_back();
  return v;
}
/// Removes the n topmost values.
inline void drop(Stack& stack, size_t n) { stack.erase(stack.end() - static_cast<ptrdiff_t>(n), stack.end()); }
/// Value i, from 0, of the n topmost ones.
inline IValue& peek(Stack& stack, size_t i, size_t n) { return stack[stack.size() - n + i]; }

}  // namespace shunt
