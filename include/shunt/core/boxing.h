// Boxing: conversions between C++ arguments and IValues, derived by templates from a kernel's C++ signature.
//
// BoxTraits<T> defines the argument and return types that kernels may have. For each it gives the schema type, the
// conversion to an IValue (box), and the conversion from one (unbox). Unboxed lists and strings are views into the
// stack's IValues, which outlive the call. No state; any thread.
#pragma once

#include <shunt/core/call_stack.h>
#include <shunt/core/function_schema.h>

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace shunt {

class OperatorHandle;

/// Base class of a kernel's state. Registrations and the calls that use the kernel keep it alive.
class SHUNT_API OperatorKernel : public intrusive_ptr_target {};

namespace boxing {

/// A list of types, for templates that are specialised by a kernel's arguments.
template <class... Ts>
struct Types {};

/// A schema type of this kind, neither optional nor a list.
inline Type type(TypeKind kind) {
  Type t;
  t.kind = kind;
  return t;
}
/// `T[]`, and below `T?`, for a schema type T.
inline Type listOf(Type element) { return Type::listOf(std::move(element)); }
inline Type optionalOf(Type t) {
  t.optional = true;
  return t;
}

// ---- one entry per type -----------------------------------------------------------------------------------------
/// The conversions of T. This primary template is for types that kernels may not have.
template <class T>
struct BoxTraits {
  static_assert(sizeof(T) == 0,
                "not a type that an operator's kernel may take or return; use Tensor, Scalar, int64_t, "
                "double, bool, std::string_view, IntArrayRef, TensorList, std::optional of these, ...");
};

/// Defines BoxTraits for a type with an IValue constructor. `expr` converts the IValue `v` back.
#define SHUNT_BOX_VALUE(T, kind, expr)                        \
  template <>                                                 \
  struct BoxTraits<T> {                                       \
    static Type schemaType() { return type(TypeKind::kind); } \
    static IValue box(const T& v) { return IValue(v); }       \
    static T unbox(IValue& v) { return expr; }                \
  };
// Enumerations are ints in an IValue. A string_view points into it.
SHUNT_BOX_VALUE(int64_t, Int, v.toInt())
SHUNT_BOX_VALUE(double, Float, v.toDouble())
SHUNT_BOX_VALUE(bool, Bool, v.toBool())
SHUNT_BOX_VALUE(Scalar, Scalar, v.toScalar())
SHUNT_BOX_VALUE(ScalarType, ScalarType, static_cast<ScalarType>(v.toInt()))
SHUNT_BOX_VALUE(Layout, Layout, static_cast<Layout>(v.toInt()))
SHUNT_BOX_VALUE(MemoryFormat, MemoryFormat, static_cast<MemoryFormat>(v.toInt()))
SHUNT_BOX_VALUE(Device, Device, v.toDevice())
SHUNT_BOX_VALUE(Generator, Generator, v.toGenerator())
SHUNT_BOX_VALUE(std::string, String, v.toStringRef())
SHUNT_BOX_VALUE(std::string_view, String, std::string_view(v.toStringRef()))
#undef SHUNT_BOX_VALUE

template <>
struct BoxTraits<Tensor> {
  static Type schemaType() { return type(TypeKind::Tensor); }
  static IValue box(Tensor v) { return IValue(std::move(v)); }
  // None becomes the undefined tensor, in the stack's value too.
  static Tensor& unbox(IValue& v) {
    if (v.isNone()) [[unlikely]]
      makeUndefined(v);
    return v.toTensor();
  }

 private:
  SHUNT_NOINLINE static void makeUndefined(IValue& v) { v = IValue(Tensor()); }
};

#define SHUNT_BOX_LIST(Ref, Vector, kind, get)                                     \
  template <>                                                                      \
  struct BoxTraits<Ref> {                                                          \
    static Type schemaType() { return listOf(kind); }                              \
    static IValue box(const Ref& v) { return IValue(Vector(v.begin(), v.end())); } \
    static Ref unbox(IValue& v) { return Ref(v.get().data(), v.get().size()); }    \
  };
// A bare int given for `int[2]` is a list here: boxed calls repeat it to the schema's size first.
SHUNT_BOX_LIST(IntArrayRef, std::vector<int64_t>, type(TypeKind::Int), toIntVector)
SHUNT_BOX_LIST(ArrayRef<double>, std::vector<double>, type(TypeKind::Float), toDoubleVector)
SHUNT_BOX_LIST(TensorList, std::vector<Tensor>, type(TypeKind::Tensor), toTensorVector)
SHUNT_BOX_LIST(TensorOptList, std::vector<std::optional<Tensor>>, optionalOf(type(TypeKind::Tensor)),
               toOptionalTensorVector)
#undef SHUNT_BOX_LIST

template <>
struct BoxTraits<ArrayRef<bool>> {
  static Type schemaType() { return listOf(type(TypeKind::Bool)); }
  static IValue box(const ArrayRef<bool>& v) { return IValue(std::vector<char>(v.begin(), v.end())); }
  static ArrayRef<bool> unbox(IValue& v) {
    static_assert(sizeof(bool) == sizeof(char));
    return ArrayRef<bool>(reinterpret_cast<const bool*>(v.toBoolVector().data()), v.toBoolVector().size());
  }
};

template <size_t N>
struct BoxTraits<std::array<bool, N>> {
  static Type schemaType() {
    Type t = listOf(type(TypeKind::Bool));
    t.fixed_size = N;
    return t;
  }
  static IValue box(const std::array<bool, N>& v) { return IValue(std::vector<char>(v.begin(), v.end())); }
  static std::array<bool, N> unbox(IValue& v) {
    const std::vector<char>& from = v.toBoolVector();
    SHUNT_CHECK(from.size() == N, "expected a list of ", N, " bools, got ", from.size());
    std::array<bool, N> out{};
    std::transform(from.begin(), from.end(), out.begin(), [](char b) { return b != 0; });
    return out;
  }
};

/// Storage for a list of Scalars while the kernel runs: IValues hold it as a generic list.
struct ScalarListHolder {
  std::vector<Scalar> values;
  operator ArrayRef<Scalar>() const { return values; }
};
template <>
struct BoxTraits<ArrayRef<Scalar>> {
  static Type schemaType() { return listOf(type(TypeKind::Scalar)); }
  static IValue box(const ArrayRef<Scalar>& v) { return IValue(std::vector<IValue>(v.begin(), v.end())); }
  static ScalarListHolder unbox(IValue& v) {
    ScalarListHolder out;
    for (const IValue& e : v.toGenericVector()) out.values.push_back(e.toScalar());
    return out;
  }
};

template <class T>
struct BoxTraits<std::optional<T>> {
  static Type schemaType() { return optionalOf(BoxTraits<T>::schemaType()); }
  static IValue box(const std::optional<T>& v) { return v ? BoxTraits<T>::box(*v) : IValue(); }
  static std::optional<T> unbox(IValue& v) {
    if (v.isNone()) return std::nullopt;
    if constexpr (std::is_same_v<T, Tensor>)
      if (!v.toTensor().defined()) return std::nullopt;
    return std::optional<T>(BoxTraits<T>::unbox(v));
  }
};

/// Whether IValue stores a list of T as std::vector<T>. Other lists are vectors of IValues, or of char for bool.
template <class T>
inline constexpr bool kHasVectorTag = std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                                      std::is_same_v<T, Tensor> || std::is_same_v<T, std::optional<Tensor>>;

// Lists that own their elements. Kernels return them; as arguments they are copies.
template <class T>
struct BoxTraits<std::vector<T>> {
  static Type schemaType() { return BoxTraits<ArrayRef<T>>::schemaType(); }
  static IValue box(std::vector<T> v) {
    if constexpr (kHasVectorTag<T>) {
      return IValue(std::move(v));
    } else if constexpr (std::is_same_v<T, bool>) {
      return IValue(std::vector<char>(v.begin(), v.end()));
    } else {
      std::vector<IValue> out;
      out.reserve(v.size());
      for (T& e : v) out.push_back(BoxTraits<T>::box(std::move(e)));
      return IValue(std::move(out));
    }
  }
  static std::vector<T> unbox(IValue& v) {
    auto ref = BoxTraits<ArrayRef<T>>::unbox(v);
    return std::vector<T>(ref.begin(), ref.end());
  }
};

/// T without reference and const, as BoxTraits is specialised.
template <class T>
using Bare = std::remove_cvref_t<T>;

// ---- signatures -------------------------------------------------------------------------------------------------
/// The parts of a function type, function pointer or functor: Return, Args, and Signature without the keyset.
template <class F>
struct FunctionTraits : FunctionTraits<decltype(&F::operator())> {};
template <class R, class... A>
struct FunctionTraits<R(A...)> {
  using Return = R;
  using Args = Types<A...>;
  using Signature = R(A...);
  static constexpr bool takes_keyset = false;
};
// A kernel may take the keyset as its first parameter. It is no argument of the operator.
template <class R, class... A>
struct FunctionTraits<R(DispatchKeySet, A...)> {
  using Return = R;
  using Args = Types<A...>;
  using Signature = R(A...);
  static constexpr bool takes_keyset = true;
};
template <class R, class... A>
struct FunctionTraits<R (*)(A...)> : FunctionTraits<R(A...)> {};
template <class C, class R, class... A>
struct FunctionTraits<R (C::*)(A...)> : FunctionTraits<R(A...)> {};
template <class C, class R, class... A>
struct FunctionTraits<R (C::*)(A...) const> : FunctionTraits<R(A...)> {};

}  // namespace boxing

/// A kernel's C++ signature as a run-time value: its identity, and the schema types that it corresponds to.
struct SHUNT_API CppSignature {
  const std::type_info* id;
  std::vector<Type> arguments;
  std::vector<Type> returns;
  std::vector<bool> mutable_arguments;  // true for Tensor&

  /// The one object for a function type without the keyset. It lives as long as the process.
  template <class Signature>
  static const CppSignature& of();
  /// The signature of a function type, function pointer or functor; a leading DispatchKeySet is left out.
  template <class F>
  static CppSignature make() {
    return of<typename boxing::FunctionTraits<F>::Signature>();
  }
  /// The demangled function type, for messages.
  std::string name() const { return str(); }
  std::string str() const;
  bool operator==(const CppSignature& o) const { return *id == *o.id; }
};

namespace boxing {

/// The schema types of a C++ return type: none for void, one for each element of a tuple.
template <class R>
struct ReturnTypes {
  static std::vector<Type> get() { return {BoxTraits<Bare<R>>::schemaType()}; }
};
template <>
struct ReturnTypes<void> {
  static std::vector<Type> get() { return {}; }
};
template <class... R>
struct ReturnTypes<std::tuple<R...>> {
  static std::vector<Type> get() { return {BoxTraits<Bare<R>>::schemaType()...}; }
};

/// Builds what CppSignature::of returns.
template <class S>
struct SignatureBuilder;
template <class R, class... A>
struct SignatureBuilder<R(A...)> {
  static CppSignature build() {
    return CppSignature{&typeid(R(A...)),
                        {BoxTraits<Bare<A>>::schemaType()...},
                        ReturnTypes<R>::get(),
                        {std::is_same_v<A, Tensor&>...}};
  }
};

// ---- returns ----------------------------------------------------------------------------------------------------
/// Push a return. The stack has room for at least kRoom more values.
template <size_t kRoom, class R>
void pushValue(Stack& stack, R&& r) {
  if constexpr (kRoom > 0)
    pushWithRoom(stack, BoxTraits<Bare<R>>::box(std::forward<R>(r)));
  else
    stack.push_back(BoxTraits<Bare<R>>::box(std::forward<R>(r)));
}
template <size_t kRoom, class R>
void pushReturn(Stack& stack, R&& r) {
  pushValue<kRoom>(stack, std::forward<R>(r));
}
// Each element is a return. A tuple inside the tuple is a single one.
template <size_t kRoom, class... R>
void pushReturn(Stack& stack, std::tuple<R...>&& r) {
  [[maybe_unused]] constexpr size_t kEach = kRoom >= sizeof...(R);
  std::apply([&](auto&&... e) { (pushValue<kEach>(stack, std::forward<decltype(e)>(e)), ...); }, std::move(r));
}

/// Whether a kernel that returns R has several returns.
template <class R>
inline constexpr bool kIsTuple = false;
template <class... R>
inline constexpr bool kIsTuple<std::tuple<R...>> = true;

// ---- boxed form of an unboxed kernel ----------------------------------------------------------------------------
/// Calls unboxed code with arguments from a stack, and leaves its returns there.
template <class R, class Args>
struct BoxedFromUnboxed;
template <class R, class... A>
struct BoxedFromUnboxed<R, Types<A...>> {
  template <class Call>
  static void run(Stack* stack, Call&& call) {
    constexpr size_t n = sizeof...(A);
    runIndexed(stack, std::forward<Call>(call), std::make_index_sequence<n>());
  }
  template <class Call, size_t... I>
  static void runIndexed(Stack* stack, Call&& call, std::index_sequence<I...>) {
    constexpr size_t n = sizeof...(A);
    // The arguments stay on the stack while the kernel runs: its views and Tensor& point to them.
    if constexpr (std::is_void_v<R>) {
      call(BoxTraits<Bare<A>>::unbox(peek(*stack, I, n))...);
      drop(*stack, n);
    } else if constexpr (std::is_reference_v<R>) {
      Tensor result = call(BoxTraits<Bare<A>>::unbox(peek(*stack, I, n))...);
      drop(*stack, n);
      pushReturn<n>(*stack, std::move(result));
    } else if constexpr (kIsTuple<R>) {
      // References inside the tuple become values before their arguments leave the stack.
      auto result = std::apply([](auto&&... e) { return std::tuple<Bare<decltype(e)>...>(e...); },
                               call(BoxTraits<Bare<A>>::unbox(peek(*stack, I, n))...));
      drop(*stack, n);
      pushReturn<n>(*stack, std::move(result));
    } else {
      R result = call(BoxTraits<Bare<A>>::unbox(peek(*stack, I, n))...);
      drop(*stack, n);
      pushReturn<n>(*stack, std::move(result));
    }
  }
  template <auto Fn>
  static void callStatic(OperatorKernel*, const OperatorHandle&, DispatchKeySet ks, Stack* stack) {
    run(stack, [ks](auto&&... a) -> R {
      (void)ks;
      if constexpr (FunctionTraits<decltype(Fn)>::takes_keyset)
        return Fn(ks, static_cast<decltype(a)>(a)...);
      else
        return Fn(static_cast<decltype(a)>(a)...);
    });
  }
  template <class Holder>
  static void callFunctor(OperatorKernel* functor, const OperatorHandle&, DispatchKeySet ks, Stack* stack) {
    run(stack, [functor, ks](auto&&... a) -> R {
      return static_cast<Holder*>(functor)->invoke(ks, static_cast<decltype(a)>(a)...);
    });
  }
};

// ---- unboxed forms ----------------------------------------------------------------------------------------------
/// The unboxed form of a function known at compile time.
template <auto Fn, class R, class Args>
struct StaticKernel;
template <auto Fn, class R, class... A>
struct StaticKernel<Fn, R, Types<A...>> {
  static R call(OperatorKernel*, DispatchKeySet ks, A... a) {
    if constexpr (FunctionTraits<decltype(Fn)>::takes_keyset)
      return Fn(ks, std::forward<A>(a)...);
    else {
      (void)ks;
      return Fn(std::forward<A>(a)...);
    }
  }
};

/// The unboxed form of a functor or function pointer, which the kernel owns.
template <class F, class R, class Args>
struct FunctorKernel;
template <class F, class R, class... A>
struct FunctorKernel<F, R, Types<A...>> : OperatorKernel {
  explicit FunctorKernel(F f) : f_(std::move(f)) {}
  template <class... B>
  R invoke(DispatchKeySet ks, B&&... b) {
    if constexpr (FunctionTraits<F>::takes_keyset)
      return f_(ks, std::forward<B>(b)...);
    else {
      (void)ks;
      return f_(std::forward<B>(b)...);
    }
  }
  static R call(OperatorKernel* self, DispatchKeySet ks, A... a) {
    return static_cast<FunctorKernel*>(self)->invoke(ks, std::forward<A>(a)...);
  }
  F f_;
};

/// Both forms of a program's class that derives from OperatorKernel. Registrations keep the object itself alive.
template <class F, class R, class Args>
struct UserFunctor;
template <class F, class R, class... A>
struct UserFunctor<F, R, Types<A...>> {
  template <class... B>
  static R invoke(OperatorKernel* self, DispatchKeySet ks, B&&... b) {
    F& f = *static_cast<F*>(self);
    if constexpr (FunctionTraits<F>::takes_keyset)
      return f(ks, std::forward<B>(b)...);
    else {
      (void)ks;
      return f(std::forward<B>(b)...);
    }
  }
  static R call(OperatorKernel* self, DispatchKeySet ks, A... a) { return invoke(self, ks, std::forward<A>(a)...); }
  static void callBoxed(OperatorKernel* self, const OperatorHandle&, DispatchKeySet ks, Stack* stack) {
    BoxedFromUnboxed<R, Types<A...>>::run(
        stack, [self, ks](auto&&... a) -> R { return invoke(self, ks, static_cast<decltype(a)>(a)...); });
  }
};

/// Calls `f(op, ks, stack)`, or `f(op, stack)` if f takes no keyset.
template <class F>
void callBoxedFunction(F& f, const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
  if constexpr (std::is_invocable_v<F&, const OperatorHandle&, DispatchKeySet, Stack*>)
    f(op, ks, stack);
  else
    f(op, stack);
}

/// A boxed functor or function pointer, which the kernel owns.
template <class F>
struct BoxedFunctor : OperatorKernel {
  explicit BoxedFunctor(F f) : f_(std::move(f)) {}
  /// A BoxedKernelFn. `self` must be a BoxedFunctor<F>.
  static void call(OperatorKernel* self, const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
    callBoxedFunction(static_cast<BoxedFunctor*>(self)->f_, op, ks, stack);
  }
  F f_;
};

/// The BoxedKernelFn of a boxed function known at compile time.
template <auto Fn>
void callStaticBoxed(OperatorKernel*, const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
  callBoxedFunction(*Fn, op, ks, stack);
}

// ---- unboxed call of a boxed kernel -----------------------------------------------------------------------------
/// Errors of boxed kernels: a return that is none of the arguments, and too few returns.
[[noreturn]] SHUNT_API void throwForeignReference(const OperatorHandle& op);
[[noreturn]] SHUNT_API SHUNT_COLD void throwReturnCount(const OperatorHandle& op, size_t expected, size_t got);

/// The return in `v`. A Tensor is moved out of it.
template <class T>
T takeReturn(IValue& v) {
  using Traits = BoxTraits<Bare<T>>;
  if constexpr (std::is_same_v<decltype(Traits::unbox(v)), T&>)
    return std::move(Traits::unbox(v));
  else
    return T(Traits::unbox(v));
}

/// The number of values that a kernel with return type R leaves on the stack.
template <class R>
inline constexpr size_t kReturnCount = 1;
template <>
inline constexpr size_t kReturnCount<void> = 0;
template <class... R>
inline constexpr size_t kReturnCount<std::tuple<R...>> = sizeof...(R);

/// Converts the returns on the stack to R. A returned reference is the argument of the caller that holds the same
/// tensor: the first mutable one of an in-place form, the last ones of an out= form.
template <class R, class... A>
struct UnboxReturn {
  /// The last kReturnCount<R> values of the stack must be the returns.
  static R take(const OperatorHandle&, Stack& stack, std::tuple<A...>&) {
    if constexpr (!std::is_void_v<R>) return takeReturn<R>(stack.back());
  }
};
/// The arguments of type Tensor&.
template <class... A>
struct MutableArguments {
  /// Their number, and their addresses in order: out[0] to out[count - 1].
  static constexpr size_t count = (size_t{std::is_same_v<A, Tensor&>} + ... + 0);
  template <size_t I = 0>
  static void collect(std::tuple<A...>& args, std::array<Tensor*, count + 1>& out, size_t n = 0) {
    if constexpr (I < sizeof...(A)) {
      if constexpr (std::is_same_v<std::tuple_element_t<I, std::tuple<A...>>, Tensor&>) out[n++] = &std::get<I>(args);
      collect<I + 1>(args, out, n);
    }
  }
};
/// The last Tensor& argument that is the tensor `result`. Throws shunt::Error if there is none.
template <class... A>
Tensor& referenceOf(const OperatorHandle& op, const IValue& result, std::tuple<A...>& args) {
  std::array<Tensor*, MutableArguments<A...>::count + 1> refs{};
  MutableArguments<A...>::collect(args, refs);
  for (size_t i = MutableArguments<A...>::count; i-- > 0;)
    if (refs[i]->is_same(result.toTensor())) return *refs[i];
  throwForeignReference(op);
}
/// The first Tensor argument that is the tensor `result`. Throws shunt::Error if there is none.
template <class... A>
const Tensor& constReferenceOf(const OperatorHandle& op, const IValue& result, const std::tuple<A...>& args) {
  const Tensor* found = nullptr;
  auto visit = [&](const auto& a) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a)>, Tensor>)
      if (found == nullptr && a.is_same(result.toTensor())) found = &a;
  };
  std::apply([&](const auto&... a) { (visit(a), ...); }, args);
  if (found == nullptr) throwForeignReference(op);
  return *found;
}
template <class... A>
struct UnboxReturn<Tensor&, A...> {
  static Tensor& take(const OperatorHandle& op, Stack& stack, std::tuple<A...>& args) {
    return referenceOf(op, stack.back(), args);
  }
};
template <class... A>
struct UnboxReturn<const Tensor&, A...> {
  static const Tensor& take(const OperatorHandle& op, Stack& stack, std::tuple<A...>& args) {
    return constReferenceOf(op, stack.back(), args);
  }
};
template <class... R, class... A>
struct UnboxReturn<std::tuple<R...>, A...> {
  static std::tuple<R...> take(const OperatorHandle& op, Stack& stack, std::tuple<A...>& args) {
    return indexed(op, stack, args, std::index_sequence_for<R...>());
  }
  template <size_t... I>
  static std::tuple<R...> indexed(const OperatorHandle& op, Stack& stack, std::tuple<A...>& args,
                                  std::index_sequence<I...>) {
    return std::tuple<R...>(element<R>(op, peek(stack, I, sizeof...(R)), args)...);
  }
  template <class E>
  static E element(const OperatorHandle& op, IValue& v, std::tuple<A...>& args) {
    if constexpr (std::is_same_v<E, Tensor&>)
      return referenceOf(op, v, args);
    else if constexpr (std::is_same_v<E, const Tensor&>)
      return constReferenceOf(op, v, args);
    else {
      (void)op;
      (void)args;
      return takeReturn<E>(v);
    }
  }
};

/// Pushes an argument. Its temporary IValue is destroyed before that of the next argument is made.
template <class A>
SHUNT_ALWAYS_INLINE void pushArgument(Stack& stack, const Bare<A>& a) {
  IValue v = BoxTraits<Bare<A>>::box(a);
  pushWithRoom(stack, std::move(v));
}

/// Calls a boxed kernel with C++ arguments. Throws shunt::Error if it leaves fewer than kReturnCount<R> values.
template <class R, class... A>
SHUNT_NOINLINE R callBoxedAsUnboxed(void (*boxed)(OperatorKernel*, const OperatorHandle&, DispatchKeySet, Stack*),
                                    OperatorKernel* functor, const OperatorHandle& op, DispatchKeySet ks, A... a) {
  const CallStack call_stack(sizeof...(A));
  Stack& stack = *call_stack;
  (pushArgument<A>(stack, a), ...);
  std::tuple<A...> args(std::forward<A>(a)...);
  boxed(functor, op, ks, &stack);
  if (stack.size() < kReturnCount<R>) [[unlikely]]
    throwReturnCount(op, kReturnCount<R>, stack.size());
  return UnboxReturn<R, A...>::take(op, stack, args);
}

}  // namespace boxing

template <class T>
  requires(detail::kBoxedByTraits<T>)
IValue::IValue(const T& v) : IValue(boxing::BoxTraits<T>::box(v)) {}

template <class T>
T IValue::to() const {
  IValue shared = *this;  // a None may become the undefined tensor
  return T(boxing::BoxTraits<T>::unbox(shared));
}

template <class Signature>
const CppSignature& CppSignature::of() {
  static const CppSignature signature = boxing::SignatureBuilder<Signature>::build();
  return signature;
}

}  // namespace shunt
