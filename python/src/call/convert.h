// Arguments of C++ from objects that fit (parse.h). Each conversion gives a holder, which lives during the call and
// converts to the kernel's argument. A null object stands for the parameter's default.
#pragma once

#include "python/src/call/signature.h"
#include "python/src/types/tensor.h"

#include <shunt/core/inline_vector.h>

#include <array>
#include <optional>

namespace shunt::python {

// Each throws PythonError where the object's value can't be taken: too large, or an element of another type.
int64_t toInt(const Parameter& p, PyObject* o);
double toDouble(const Parameter& p, PyObject* o);
bool toBool(PyObject* o);
Scalar toScalar(PyObject* o);
Device toDevice(PyObject* o);
std::string_view toText(PyObject* o);
using Ints = InlineVector<int64_t, 6>;
/// Of one int, as many as the list's fixed size.
void toInts(const Parameter& p, PyObject* o, Ints& out);
void toTensors(const Parameter& p, PyObject* o, InlineVector<Tensor, 4>& out);
void toOptionalTensors(const Parameter& p, PyObject* o, std::vector<std::optional<Tensor>>& out);
/// The value that an enumeration's object stands for (dtype, layout, memory format).
int64_t constantOf(PyObject* o);
Generator toGenerator(PyObject* o);

/// A tensor for a number, which counts as one in type promotion.
Tensor wrapNumber(PyObject* o);

template <class T>
struct Converter;

inline const Tensor kUndefined;

template <>
struct Converter<const Tensor&> {
  Tensor own;
  const Tensor* tensor = &kUndefined;
  Converter(const Parameter&, PyObject* o) {
    if (o == nullptr || o == Py_None) return;
    if (isTensor(o)) [[likely]] {
      tensor = &tensorOf(o);
    } else {
      own = wrapNumber(o);
      tensor = &own;
    }
  }
  operator const Tensor&() const { return *tensor; }
};

template <>
struct Converter<Tensor&> {
  Tensor& tensor;
  Converter(const Parameter&, PyObject* o) : tensor(tensorOf(o)) {}
  operator Tensor&() const { return tensor; }
};

template <>
struct Converter<const std::optional<Tensor>&> {
  std::optional<Tensor> tensor;
  Converter(const Parameter& p, PyObject* o) {
    if (o != nullptr && o != Py_None) tensor = static_cast<const Tensor&>(Converter<const Tensor&>(p, o));
  }
  operator const std::optional<Tensor>&() const { return tensor; }
};

// What converts to a plain value: `of` an object, `fallback` of the default.
template <class T>
struct Plain;
template <>
struct Plain<int64_t> {
  static int64_t of(const Parameter& p, PyObject* o) { return toInt(p, o); }
  static int64_t fallback(const Default& d) { return d.integer; }
};
template <>
struct Plain<double> {
  static double of(const Parameter& p, PyObject* o) { return toDouble(p, o); }
  static double fallback(const Default& d) { return d.floating; }
};
template <>
struct Plain<bool> {
  static bool of(const Parameter&, PyObject* o) { return toBool(o); }
  static bool fallback(const Default& d) { return d.integer != 0; }
};
template <>
struct Plain<Scalar> {
  static Scalar of(const Parameter&, PyObject* o) { return toScalar(o); }
  static Scalar fallback(const Default& d) { return d.scalar; }
};
template <>
struct Plain<std::string_view> {
  static std::string_view of(const Parameter&, PyObject* o) { return toText(o); }
  static std::string_view fallback(const Default& d) { return d.text; }
};
template <>
struct Plain<Device> {
  static Device of(const Parameter&, PyObject* o) { return toDevice(o); }
  static Device fallback(const Default& d) { return Device(d.text); }
};
template <>
struct Plain<Generator> {
  static Generator of(const Parameter&, PyObject* o) { return o == Py_None ? Generator() : toGenerator(o); }
  static Generator fallback(const Default&) { return {}; }
};
template <class E>
  requires std::is_enum_v<E>
struct Plain<E> {
  static E of(const Parameter&, PyObject* o) { return static_cast<E>(constantOf(o)); }
  static E fallback(const Default& d) { return static_cast<E>(d.integer); }
};

template <class T>
struct Converter {
  T value;
  Converter(const Parameter& p, PyObject* o) : value(o != nullptr ? Plain<T>::of(p, o) : Plain<T>::fallback(p.value)) {}
  operator T() const { return value; }
};

template <>
struct Converter<const Scalar&> : Converter<Scalar> {
  using Converter<Scalar>::Converter;
  operator const Scalar&() const { return value; }
};

template <class T>
struct Converter<std::optional<T>> {
  std::optional<T> value;
  Converter(const Parameter& p, PyObject* o) {
    if (o != nullptr ? o != Py_None : !p.value.is_none)
      value = o != nullptr ? Plain<T>::of(p, o) : Plain<T>::fallback(p.value);
  }
  operator std::optional<T>() const { return value; }
};

template <>
struct Converter<const std::optional<Scalar>&> : Converter<std::optional<Scalar>> {
  using Converter<std::optional<Scalar>>::Converter;
  operator const std::optional<Scalar>&() const { return value; }
};

template <>
struct Converter<IntArrayRef> {
  Ints own;
  IntArrayRef list;
  Converter(const Parameter& p, PyObject* o) {
    if (o == nullptr || o == Py_None) {
      list = p.value.integers;
    } else {
      toInts(p, o, own);
      list = IntArrayRef(own.data(), own.size());
    }
  }
  Converter(const Converter&) = delete;
  operator IntArrayRef() const { return list; }
};

template <>
struct Converter<OptionalIntArrayRef> {
  Ints own;
  OptionalIntArrayRef list;
  Converter(const Parameter& p, PyObject* o) {
    if (o == nullptr ? p.value.is_none : o == Py_None) return;
    if (o == nullptr) {
      list = IntArrayRef(p.value.integers);
    } else {
      toInts(p, o, own);
      list = IntArrayRef(own.data(), own.size());
    }
  }
  Converter(const Converter&) = delete;
  operator OptionalIntArrayRef() const { return list; }
};

template <>
struct Converter<TensorList> {
  InlineVector<Tensor, 4> list;
  Converter(const Parameter& p, PyObject* o) {
    if (o != nullptr) toTensors(p, o, list);
  }
  operator TensorList() const { return TensorList(list.data(), list.size()); }
};

template <>
struct Converter<TensorOptList> {
  std::vector<std::optional<Tensor>> list;
  Converter(const Parameter& p, PyObject* o) {
    if (o != nullptr) toOptionalTensors(p, o, list);
  }
  operator TensorOptList() const { return list; }
};

template <>
struct Converter<ArrayRef<double>> {
  std::vector<double> list;
  Converter(const Parameter& p, PyObject* o) {
    if (o == nullptr) return;
    if (!PyTuple_Check(o) && !PyList_Check(o)) {
      list.assign(static_cast<size_t>(p.fixed_size), toDouble(p, o));
      return;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      list.push_back(toDouble(p, PySequence_Fast_ITEMS(o)[i]));
  }
  operator ArrayRef<double>() const { return list; }
};

template <>
struct Converter<std::optional<ArrayRef<double>>> : Converter<ArrayRef<double>> {
  bool given;
  Converter(const Parameter& p, PyObject* o)
      : Converter<ArrayRef<double>>(p, o == Py_None ? nullptr : o), given(o != nullptr && o != Py_None) {}
  operator std::optional<ArrayRef<double>>() const {
    return given ? std::optional<ArrayRef<double>>(ArrayRef<double>(list)) : std::nullopt;
  }
};

template <size_t N>
struct Converter<std::array<bool, N>> {
  std::array<bool, N> list{};
  Converter(const Parameter& p, PyObject* o) {
    if (o == nullptr) return;
    if (PySequence_Fast_GET_SIZE(o) != static_cast<Py_ssize_t>(N)) {
      PyErr_Format(PyExc_TypeError, "%s(): argument '%U' must be a tuple of %zu bools", p.function, p.name, N);
      throw PythonError();
    }
    for (size_t i = 0; i < N; ++i) list[i] = PyObject_IsTrue(PySequence_Fast_ITEMS(o)[i]) == 1;
  }
  operator std::array<bool, N>() const { return list; }
};

}  // namespace shunt::python
