// Registers operators whose kernels are made from a custom functor.
//
//   struct Softplus2 : shunt::functors::FloatFunctor<1> {
//     template <class C> C operator()(C x) const { return shunt::math::log1p(shunt::math::exp(x)); }
//   };
//   SHUNT_LIBRARY(my, m)           { m.def("softplus2(Tensor self) -> Tensor"); }
//   SHUNT_LIBRARY_IMPL(my, CPU, m) { m.elementwise<Softplus2>("softplus2"); }
//
// - The functor's inputs are tensors. Its scalars are `Scalar` arguments after them.
// - The kernels do what the built-in ones do: broadcasting, type promotion, computing 16-bit types in float, output
//   layout, out= and overlap rules. They serve the keys CPU and Meta.
// - The loops are compiled with the program's flags. Use -ffp-contract=off for the bits of the built-in operators.
// - Derivatives are registered separately (key Autograd).
// - vmap calls such an operator, and its Autograd kernel, once for a whole batch. So the Autograd formula must be
//   elementwise too.
// Owners and threads are those of Library.
#pragma once

#include <shunt/core/library.h>
#include <shunt/elementwise/elementwise_kernel.h>
#include <shunt/elementwise/generic_loop.h>
#include <shunt/elementwise/math/math.h>
#include <shunt/elementwise/request.h>
#include <shunt/elementwise/typed_loop.h>

#include <array>
#include <string>
#include <utility>

namespace shunt {

namespace elementwise {

/// The loops of a custom functor, by common dtype; null where it isn't defined.
template <class F>
inline constexpr auto kOwnLoops = [] {
  std::array<LoopFn, kDtypeSlots> row{};
  fillRow<F>(row.data());
  return row;
}();

/// The same for the loops that the JIT specialises.
template <class F>
inline constexpr auto kOwnGenericLoops = [] {
  std::array<GenericLoopFn, kDtypeSlots> row{};
  fillGenericRow<F>(row.data());
  return row;
}();

/// The descriptor of a custom functor, to which all its kernels refer.
template <class F>
inline constexpr KernelDescriptor kOwnDescriptor = [] {
  KernelDescriptor info = detail::describe<F>();
  info.own_loops = kOwnLoops<F>.data();
  info.own_generic_loops = kOwnGenericLoops<F>.data();
  return info;
}();

namespace detail {

template <class T, size_t>
using Repeat = T;

/// The kernels of functor F with inputs I and scalars S. Each keeps its operator's name for error messages.
template <class F, class Inputs, class Scalars>
struct OwnKernels;

template <class F, size_t... I, size_t... S>
struct OwnKernels<F, std::index_sequence<I...>, std::index_sequence<S...>> {
  static auto functional(std::string name) {
    return [name = std::move(name)](Repeat<const Tensor&, I>... inputs, Repeat<const Scalar&, S>... scalars) -> Tensor {
      Request request{kOwnDescriptor<F>, name.c_str()};
      bindAll(request, 0, inputs..., scalars...);
      return runFunctional(request);
    };
  }
  static auto out(std::string name) {
    return [name = std::move(name)](Repeat<const Tensor&, I>... inputs, Repeat<const Scalar&, S>... scalars,
                                    Tensor& out) -> Tensor& {
      Request request{kOwnDescriptor<F>, name.c_str()};
      bindAll(request, 0, inputs..., scalars...);
      runOutRequest(request, out);
      return out;
    };
  }
  template <size_t... Rest>
  static auto inplace(std::string name, std::index_sequence<Rest...>) {
    return [name = std::move(name)](Tensor& self, Repeat<const Tensor&, Rest>... others,
                                    Repeat<const Scalar&, S>... scalars) -> Tensor& {
      Request request{kOwnDescriptor<F>, name.c_str()};
      bindAll(request, 0, self, others..., scalars...);
      runInplaceRequest(request, self);
      return self;
    };
  }
};

}  // namespace detail
}  // namespace elementwise

template <class F>
Library& Library::elementwise(std::string_view name, std::source_location where) {
  using Kernels =
      elementwise::detail::OwnKernels<F, std::make_index_sequence<F::kInputs>, std::make_index_sequence<F::kScalars>>;
  const ElementwiseForms forms = elementwiseForms(name);
  const auto kernelOf = [](auto call) {
    return CppFunction(elementwise::kernelOfFunctor(elementwise::kOwnDescriptor<F>, std::move(call)));
  };
  impl(name, kernelOf(Kernels::functional(forms.base)), where);
  if (!forms.inplace.empty())
    impl(forms.inplace, kernelOf(Kernels::inplace(forms.base + "_", std::make_index_sequence<F::kInputs - 1>())),
         where);
  if (!forms.out.empty()) impl(forms.out, CppFunction(Kernels::out(forms.base)), where);
  return *this;
}

}  // namespace shunt
