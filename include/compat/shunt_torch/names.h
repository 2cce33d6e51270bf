// The namespaces c10, at, torch and caffe2: their members name Shunt's types. Every forwarding header includes this.
//
// They are using-declarations of Shunt's names, because the alternatives fail:
// - Namespace aliases: a program may open c10 itself.
// - Using-directives of shunt: names would be ambiguous.
// - Types defined in c10: they would export c10's symbols from a process that may hold libtorch too.
// As in PyTorch, `at` has all names of `c10`, and `torch` all names of `at`: torch::Dispatcher is c10::Dispatcher. The
// names of operators are generated (operator_names.h).
#pragma once

#include <shunt_torch/autograd.h>
#include <shunt_torch/complex.h>
#include <shunt_torch/context.h>
#include <shunt_torch/dispatch_types.h>
#include <shunt_torch/ivalue.h>
#include <shunt_torch/keys.h>
#include <shunt_torch/legacy_types.h>
#include <shunt_torch/macros.h>
#include <shunt_torch/register_operators.h>
#include <shunt_torch/schema.h>
#include <shunt_torch/tensor.h>
#include <shunt_torch/utilities.h>

namespace shunt {

using GenericList = List<IValue>;
using GenericDict = Dict<IValue, IValue>;
inline constexpr DispatchKey kAutograd = DispatchKey::Autograd;

/// A schema parsed from text, with the kind of its alias analysis.
inline FunctionSchema schema(const char* text, AliasAnalysisKind kind = AliasAnalysisKind::FROM_SCHEMA) {
  FunctionSchema out = parseSchema(text);
  out.setAliasAnalysis(kind);
  return out;
}

}  // namespace shunt

// Names that c10, at and torch share.
// clang-format off
#define SHUNT_TORCH_CONSTANTS                                                                                        \
  using shunt::kBFloat16; using shunt::kBool; using shunt::kByte; using shunt::kChar; using shunt::kComplexDouble;   \
  using shunt::kComplexFloat; using shunt::kDouble;                                                                  \
  using shunt::kFloat; using shunt::kFloat16; using shunt::kFloat32; using shunt::kFloat64; using shunt::kHalf;      \
  using shunt::kInt; using shunt::kInt16; using shunt::kInt32; using shunt::kInt64; using shunt::kInt8;              \
  using shunt::kLong; using shunt::kShort; using shunt::kUInt8;                                                      \
  using shunt::kCPU; using shunt::kCUDA; using shunt::kMeta; using shunt::kPrivateUse1;                              \
  using shunt::kSparse; using shunt::kStrided;
#define SHUNT_TORCH_IVALUES                                                                                          \
  using shunt::ivalue::ConstantString; using shunt::ivalue::EnumHolder; using shunt::ivalue::Future;                 \
  using shunt::ivalue::Object; using shunt::ivalue::Tuple; using shunt::ivalue::TupleElements;
#define SHUNT_TORCH_INDEXING                                                                                         \
  using shunt::indexing::Ellipsis; using shunt::indexing::EllipsisIndexType; using shunt::indexing::get_item;        \
  using shunt::indexing::INDEX_MAX; using shunt::indexing::INDEX_MIN; using shunt::indexing::None;                   \
  using shunt::indexing::set_item; using shunt::indexing::Slice; using shunt::indexing::TensorIndex;
// clang-format on

namespace c10 {
SHUNT_TORCH_CONSTANTS
using shunt::AliasAnalysisKind;
using shunt::Allocator;
using shunt::Argument;
using shunt::ArrayRef;
using shunt::autograd_dispatch_keyset;
using shunt::Backend;
using shunt::BackendComponent;
using shunt::backendToDeviceType;
using shunt::BFloat16;
using shunt::ClassType;
using shunt::CompilationUnit;
using shunt::DataPtr;
using shunt::Device;
using shunt::DeviceIndex;
using shunt::DeviceType;
using shunt::Dict;
using shunt::Dispatcher;
using shunt::DispatchKey;
using shunt::DispatchKeySet;
using shunt::EnumType;
using shunt::Error;
using shunt::findSchemaDifferences;
using shunt::FloatType;
using shunt::FunctionSchema;
using shunt::get_default_dtype;
using shunt::getAutogradKeyFromBackend;
using shunt::GetCPUAllocator;
using shunt::Half;
using shunt::highestPriorityBackendTypeId;
using shunt::IndexError;
using shunt::InferenceMode;
using shunt::IntArrayRef;
using shunt::intrusive_ptr;
using shunt::intrusive_ptr_target;
using shunt::IntType;
using shunt::irange;
using shunt::isAliasKey;
using shunt::IValue;
using shunt::kAutograd;
using shunt::KernelFunction;
using shunt::Layout;
using shunt::legacyExtractDispatchKey;
using shunt::List;
using shunt::make_intrusive;
using shunt::MemoryFormat;
using shunt::NoGradGuard;
using shunt::NotImplementedError;
using shunt::num_backends;
using shunt::num_functionality_keys;
using shunt::num_runtime_entries;
using shunt::OperatorHandle;
using shunt::OperatorKernel;
using shunt::OperatorName;
using shunt::OpRegistrationListener;
using shunt::RegisterOperators;
using shunt::RegistrationHandle;
using shunt::Scalar;
using shunt::ScalarType;
using shunt::Stack;
using shunt::Storage;
using shunt::StorageImpl;
using shunt::str;
using shunt::Stream;
using shunt::StringType;
using shunt::StrongTypePtr;
using shunt::SymInt;
using shunt::SymIntNodeImpl;
using shunt::TensorImpl;
using shunt::TensorOptions;
using shunt::TensorType;
using shunt::toBackendComponent;
using shunt::toFunctionalityKey;
using shunt::toRuntimePerBackendFunctionalityKey;
using shunt::toString;
using shunt::TypedOperatorHandle;
using shunt::weak_intrusive_ptr;
using shunt::WeakIValue;
using shunt::operator*;
namespace ivalue {
SHUNT_TORCH_IVALUES
}
using std::call_once;
using std::complex;
using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::once_flag;
using std::optional;
using std::string;
using string_view = std::string_view;
namespace guts {
using std::to_string;
}
namespace Warning {
using shunt::WarnAlways;
}
namespace impl {
using shunt::CppSignature;
using shunt::ExcludeDispatchKeyGuard;
using shunt::GenericDict;
using shunt::GenericList;
using shunt::IncludeDispatchKeyGuard;
using shunt::tls_is_dispatch_key_excluded;
using shunt::tls_is_dispatch_key_included;
using shunt::tls_is_dispatch_keyset_excluded;
using shunt::tls_is_dispatch_keyset_included;
using shunt::toList;
using shunt::toTypedDict;
using shunt::toTypedList;
}  // namespace impl
}  // namespace c10

namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
}

namespace caffe2 {
using shunt::Blob;
using shunt::TypeMeta;
}  // namespace caffe2

namespace at {
SHUNT_TORCH_CONSTANTS
using shunt::addmv;
using shunt::ArrayRef;
using shunt::AutoDispatchBelowADInplaceOrView;
using shunt::AutoDispatchBelowAutograd;
using shunt::AutoGradMode;
using shunt::AutoNonVariableTypeMode;
using shunt::avg_pool3d;
using shunt::Backend;
using shunt::BFloat16;
using shunt::CPU;
using shunt::CUDA;
using shunt::DeprecatedTypeProperties;
using shunt::device;
using shunt::Device;
using shunt::device_index;
using shunt::DeviceType;
using shunt::DimVector;
using shunt::DispatchKey;
using shunt::DispatchKeySet;
using shunt::dtype;
using shunt::from_blob;
using shunt::Generator;
using shunt::get_default_dtype;
using shunt::getDeprecatedTypeProperties;
using shunt::globalContext;
using shunt::GradMode;
using shunt::Half;
using shunt::hasCUDA;
using shunt::IntArrayRef;
using shunt::layout;
using shunt::Layout;
using shunt::manual_seed;
using shunt::max_pool3d;
using shunt::MemoryFormat;
using shunt::NoGradGuard;
using shunt::requires_grad;
using shunt::Scalar;
using shunt::ScalarType;
using shunt::set_default_dtype;
using shunt::Storage;
using shunt::SymInt;
using shunt::tensor;
using shunt::Tensor;
using shunt::TensorAccessor;
using shunt::TensorList;
using shunt::TensorOptions;
using std::nullopt;
using std::optional;
namespace detail {
using shunt::detail::getDefaultCPUGenerator;
using shunt::detail::make_tensor;
}  // namespace detail
namespace Reduction {
using shunt::Reduction::Mean;
using shunt::Reduction::None;
using shunt::Reduction::Reduction;
using shunt::Reduction::Sum;
}  // namespace Reduction
namespace indexing {
SHUNT_TORCH_INDEXING
}
namespace ivalue {
SHUNT_TORCH_IVALUES
}
namespace native {
using shunt::is_nonzero;
}
}  // namespace at

namespace torch {
SHUNT_TORCH_CONSTANTS
using shunt::AutoGradMode;
using shunt::CppFunction;
using shunt::device;
using shunt::Device;
using shunt::DeviceType;
using shunt::dispatch;
using shunt::dtype;
using shunt::from_blob;
using shunt::get_default_dtype;
using shunt::GradMode;
using shunt::InferenceMode;
using shunt::IntArrayRef;
using shunt::layout;
using shunt::Layout;
using shunt::Library;
using shunt::manual_seed;
using shunt::MemoryFormat;
using shunt::NoGradGuard;
using shunt::RegisterOperators;
using shunt::requires_grad;
using shunt::Scalar;
using shunt::ScalarType;
using shunt::schema;
using shunt::set_default_dtype;
using shunt::Tensor;
using shunt::tensor;
using shunt::TensorList;
using shunt::TensorOptions;
using Dtype = shunt::ScalarType;
namespace autograd {
using shunt::AnomalyMode;
using shunt::AutoGradMode;
using CreationMeta = shunt::CreationMetaNames;
using shunt::DetectAnomalyGuard;
using shunt::GradMode;
using shunt::InferenceMode;
using shunt::make_variable;
using shunt::UndefinedGrad;
using shunt::autograd::AutogradContext;
using shunt::autograd::autogradNotImplementedFallback;
using shunt::autograd::autogradNotImplementedInplaceOrViewFallback;
using shunt::autograd::backward;
using shunt::autograd::Edge;
using shunt::autograd::Function;
using shunt::autograd::grad;
using shunt::autograd::IndexRange;
using shunt::autograd::Node;
using shunt::autograd::variable_list;
using Variable = shunt::Tensor;
}  // namespace autograd
namespace indexing {
SHUNT_TORCH_INDEXING
}
using shunt::view_as_complex;
using shunt::view_as_real;
namespace detail {
using TensorDataContainer = shunt::detail::TensorData;
}
namespace cuda {
using shunt::cuda::device_count;
using shunt::cuda::is_available;
using shunt::cuda::synchronize;
}  // namespace cuda
namespace jit {
using shunt::drop;
using shunt::parseSchema;
using shunt::peek;
using shunt::pop;
using shunt::push;
using shunt::Stack;
}  // namespace jit
}  // namespace torch

#undef SHUNT_TORCH_CONSTANTS
#undef SHUNT_TORCH_INDEXING
#undef SHUNT_TORCH_IVALUES

#include <shunt_torch/extension_names.h>
#include <shunt_torch/operator_names.h>
