// Registering operators whose kernels are made from a functor of one's own.
//
//   struct Softplus2 : shunt::functors::FloatFunctor<1> {
//     template <class C> C operator()(C x) const { return shunt::math::log1p(shunt::math::exp(x)); }
//   };
//   SHUNT_LIBRARY(my, m)           { m.def("softplus2(Tensor self) -> Tensor"); }
//   SHUNT_LIBRARY_IMPL(my, CPU, m) { m.elementwise<Softplus2>("softplus2"); }
//
// The functor's inputs are tensors, its scalars `Scalar`s that follow them. The kernels do what the dictionary's do:
// broadcasting, type promotion, 16-bit types computed in float, output layout, out= and overlap rules; for CPU and
// Meta. Loops are compiled with the flags of the program: for the bits of the dictionary's operators use
// -ffp-contract=off. Derivatives are registered apart (key Autograd). vmap calls such an operator once for the whole
// batch, and so its Autograd kernel, whose formula has to be elementwise as well. Used as Library is.
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

template <class F>
inline constexpr auto kOwnLoops = [] {
  std::array<LoopFn, kDtypeSlots> row{};
  fillRow<F>(row.data());
  return row;
}();

template <class F>
inline constexpr auto kOwnGenericLoops = [] {
  std::array<GenericLoopFn, kDtypeSlots> row{};
  fillGenericRow<F>(row.data());
  return row;
}();

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

/// The kernels of functor F for I inputs and S scalars; each knows its operator's name for its messages.
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
