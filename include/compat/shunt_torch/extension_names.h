// The second part of names.h: names that kernels of extensions use (dtypes at compile time, threads, accessors,
// checks).
#pragma once

#include <shunt/core/wrap_dim.h>

#include <shunt_torch/autocast.h>
#include <shunt_torch/dispatch_types.h>
#include <shunt_torch/errors.h>
#include <shunt_torch/parallel.h>
#include <shunt_torch/tensor_checks.h>

// Sources written for PyTorch rely on its headers for these.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

// Names that at and torch share.
// clang-format off
#define SHUNT_TORCH_KERNEL_NAMES                                                                                     \
  using shunt::acc_type; using shunt::DefaultPtrTraits; using shunt::elementSize;                                    \
  using shunt::GenericPackedTensorAccessor; using shunt::get_num_threads; using shunt::get_thread_num;               \
  using shunt::in_parallel_region; using shunt::isFloatingType; using shunt::isIntegralType;                         \
  using shunt::PackedTensorAccessor32; using shunt::PackedTensorAccessor64; using shunt::parallel_for;               \
  using shunt::parallel_reduce; using shunt::promoteTypes;                                    \
  using shunt::set_num_threads; using shunt::toString;
// clang-format on

namespace c10 {
using shunt::CppTypeToScalarType;
using shunt::elementSize;
using shunt::isFloatingType;
using shunt::isIntegralType;
using shunt::LinAlgError;
using shunt::maybe_wrap_dim;
using shunt::promoteTypes;
using shunt::TypeError;
using shunt::ValueError;
namespace impl {
using shunt::ScalarTypeToCPPType;
using shunt::ScalarTypeToCPPTypeT;
}  // namespace impl
}  // namespace c10

namespace at {
SHUNT_TORCH_KERNEL_NAMES
using shunt::checkAllContiguous;
using shunt::checkAllDefined;
using shunt::checkAllSameNumel;
using shunt::checkAllSameType;
using shunt::checkContiguous;
using shunt::checkDefined;
using shunt::checkDim;
using shunt::checkDimRange;
using shunt::CheckedFrom;
using shunt::checkNumel;
using shunt::checkSameDim;
using shunt::checkSameNumel;
using shunt::checkSameSize;
using shunt::checkSameType;
using shunt::checkScalarType;
using shunt::checkScalarTypes;
using shunt::checkSize;
using shunt::divup;
using shunt::maybe_wrap_dim;
using shunt::opmath_type;
using shunt::TensorArg;
namespace autocast {
using shunt::autocast::clear_cache;
using shunt::torch_autocast::cached_cast;
using shunt::torch_autocast::get_autocast_cpu_dtype;
using shunt::torch_autocast::is_cpu_enabled;
using shunt::torch_autocast::is_enabled;
}  // namespace autocast
namespace internal {
using shunt::GRAIN_SIZE;
}
}  // namespace at

namespace torch {
SHUNT_TORCH_KERNEL_NAMES
using shunt::ArrayRef;
using shunt::Dict;
using shunt::Half;
using shunt::IValue;
using shunt::List;
using shunt::TensorAccessor;
using std::make_optional;
using std::nullopt;
using std::optional;
namespace autograd {
using shunt::any_variable_requires_grad;
}
namespace jit {
using shunt::IValue;
}
}  // namespace torch

#undef SHUNT_TORCH_KERNEL_NAMES
