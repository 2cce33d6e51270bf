// IValue: one value of any type that a schema can name; Stack: the arguments or returns of a boxed call.
//
// Sixteen bytes: a tag and a payload; lists and strings are shared by reference count. Enumerations (dtype, layout,
// memory format) are ints, a Scalar is the number it holds, None stands for every absent optional. Value semantics;
// what was moved from is None. Not synchronised.
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
/// Arguments of a boxed call, then its returns.
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

struct IValueAccess;  // list.h, dict.h: handles on what an IValue shares
template <class T>
struct Boxed : intrusive_ptr_target {
  explicit Boxed(T v) : value(std::move(v)) {}
  T value;
};
}  // namespace detail

class SHUNT_API IValue {
 public:
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // g++ 12 takes Tag::TensorList for one that hides the type
  /// Its kinds of values.
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
  /// A string that the value shares.
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

  /// Arrays, maps, and lists without a vector type above, by what a kernel's argument of the type is made of. Needs
  /// <shunt/core/dict.h>.
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

  /// What it holds now.
  Tag tag() const { return tag_; }
  /// The schema type that has such values; of generic lists, dictionaries and tuples without that of their elements.
  Type type() const;
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
  // Kinds that PyTorch has and Shunt hasn't: no value is of one, and reading it throws.
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

  // Each throws shunt::Error that names the wanted and the held type.
  shunt::Tensor& toTensor() {
    expect(Tag::Tensor, "Tensor");
    return payload_.tensor;
  }
  const shunt::Tensor& toTensor() const {
    expect(Tag::Tensor, "Tensor");
    return payload_.tensor;
  }
  /// A double, or an int or bool converted to one.
  double toDouble() const;
  int64_t toInt() const;
  bool toBool() const {
    expect(Tag::Bool, "bool");
    return payload_.i != 0;
  }
  /// Each throws shunt::Error that names the wanted and the held type.
  Scalar toScalar() const;
  shunt::Device toDevice() const {
    expect(Tag::Device, "Device");
    return payload_.device;
  }
  /// The value, which must be of that type.
  shunt::Generator toGenerator() const;
  shunt::Storage toStorage() const;
  const std::string& toStringRef() const { return list<std::string>(Tag::String, "str"); }
  std::vector<int64_t>& toIntVector() const { return list<std::vector<int64_t>>(Tag::IntList, "int[]"); }
  /// A copy.
  std::vector<int64_t> toDimVector() const { return toIntVector(); }
  std::vector<double>& toDoubleVector() const { return list<std::vector<double>>(Tag::DoubleList, "float[]"); }
  std::vector<char>& toBoolVector() const { return list<std::vector<char>>(Tag::BoolList, "bool[]"); }
  std::vector<shunt::Tensor>& toTensorVector() const {
    return list<std::vector<shunt::Tensor>>(Tag::TensorList, "Tensor[]");
  }
  /// The list, shared with the value.
  std::vector<std::optional<shunt::Tensor>>& toOptionalTensorVector() const {
    return list<std::vector<std::optional<shunt::Tensor>>>(Tag::OptionalTensorList, "Tensor?[]");
  }
  /// The list of values of any type, shared with the value.
  std::vector<IValue>& toGenericVector() const { return list<std::vector<IValue>>(Tag::GenericList, "list"); }
  /// The elements of a list that has no vector type of its own.
  ArrayRef<IValue> toListRef() const;
  ArrayRef<IValue> toTupleElements() const { return list<std::vector<IValue>>(Tag::Tuple, "tuple"); }
  /// The same by the names of c10's tuples: toTupleRef().elements().
  struct TupleRef {
    ArrayRef<IValue> parts;
    /// The tuple's elements.
    const ArrayRef<IValue>& elements() const { return parts; }
  };
  /// The tuple, which the value must be.
  TupleRef toTupleRef() const;
  /// The value as a kernel's argument of type T would get it. Needs <shunt/core/boxing.h>, and list.h or dict.h for
  /// those.
  template <class T>
  T to() const;
  /// Handles on the shared contents; need <shunt/core/list.h>, <shunt/core/dict.h>.
  List<IValue> toList() const;
  List<int64_t> toIntList() const&;
  List<int64_t> toIntList() &&;
  List<double> toDoubleList() const&;
  List<double> toDoubleList() &&;
  List<bool> toBoolList() const;
  List<shunt::Tensor> toTensorList() const;
  Dict<IValue, IValue> toGenericDict() const;
  /// nullopt where there is nothing; else as to<T>().
  template <class T>
  std::optional<T> toOptional() const {
    return isNone() ? std::nullopt : std::optional<T>(to<T>());
  }

  // Comparisons. A tensor is compared element by element: == is an error where it has several.
  friend SHUNT_API bool operator==(const IValue& a, const IValue& b);
  /// A bool, or of two tensors a tensor of bools.
  IValue equals(const IValue& other) const;
  /// Whether both are one object; of values that aren't shared, whether they are equal.
  bool is(const IValue& other) const;
  /// The same, but tensors that share a storage are aliases.
  bool isAliasOf(const IValue& other) const;
  /// Throws for lists and dictionaries. Tensors have their identity's.
  size_t hash() const;
  void swap(IValue& other) noexcept { std::swap(*this, other); }
  /// Whether it is shared by reference count, and not null.
  bool isPtrType() const;
  /// The shared object. Throws for values that aren't.
  const void* internalToPointer() const;
  TensorImpl* unsafeToTensorImpl() const { return toTensor().unsafeGetTensorImpl(); }
  /// Of what it shares; 1 where that is nothing.
  size_t use_count() const;
  struct HashOfIdentity {
    SHUNT_API size_t operator()(const IValue& v) const;
  };
  struct EqualIdentity {
    bool operator()(const IValue& a, const IValue& b) const { return a.is(b); }
  };
  using HashAliasedIValues = std::unordered_set<IValue, HashOfIdentity, EqualIdentity>;
  /// Adds the tensors and containers that the value holds, itself among them.
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
  // Leaves None behind. Every payload is one word that may be moved as bytes, so the tag need not be looked at.
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

/// Puts a value on top of the stack.
inline void push(Stack& stack, IValue v) { stack.push_back(std::move(v)); }
inline IValue pop(Stack& stack) {
  IValue v = std::move(stack.back());
  stack.pop_back();
  return v;
}
/// Takes the n topmost values off.
inline void drop(Stack& stack, size_t n) { stack.erase(stack.end() - static_cast<ptrdiff_t>(n), stack.end()); }
inline IValue& peek(Stack& stack, size_t i, size_t n) { return stack[stack.size() - n + i]; }

}  // namespace shunt
