// The namespaces c10, at, torch and caffe2, whose members name Shunt's types: every forwarding header ends here.
//
// Using-declarations only. Namespace aliases would fail where a program opens c10 itself, using-directives would make
// names ambiguous, and a type defined in c10 would export c10's symbols from a process that may hold libtorch too.
// Operators' names are generated (operator_names.h).
#pragma once

#include <shunt_torch/macros.h>
#include <shunt_torch/register_operators.h>
#include <shunt_torch/schema.h>
#include <shunt_torch/tensor.h>
#include <shunt_torch/utilities.h>

namespace shunt {

using GenericList = List<IValue>;
using GenericDict = Dict<IValue, IValue>;
inline constexpr DispatchKey kAutograd = DispatchKey::Autograd;

/// A schema from text, with what alias analysis may assume.
inline FunctionSchema schema(const char* text, AliasAnalysisKind kind = AliasAnalysisKind::FROM_SCHEMA) {
  FunctionSchema out = parseSchema(text);
  out.setAliasAnalysis(kind);
  return out;
}

}  // namespace shunt

namespace c10 {
using shunt::AliasAnalysisKind;
using shunt::Allocator;
using shunt::Argument;
using shunt::ArrayRef;
using shunt::BackendComponent;
using shunt::DataPtr;
using shunt::Device;
using shunt::DeviceIndex;
using shunt::DeviceType;
using shunt::Dict;
using shunt::Dispatcher;
using shunt::DispatchKey;
using shunt::DispatchKeySet;
using shunt::Error;
using shunt::findSchemaDifferences;
using shunt::FunctionSchema;
using shunt::getAutogradKeyFromBackend;
using shunt::GetCPUAllocator;
using shunt::highestPriorityBackendTypeId;
using shunt::IndexError;
using shunt::InferenceMode;
using shunt::IntArrayRef;
using shunt::intrusive_ptr;
using shunt::intrusive_ptr_target;
using shunt::irange;
using shunt::isAliasKey;
using shunt::IValue;
using shunt::kAutograd;
using shunt::kCPU;
using shunt::kCUDA;
using shunt::KernelFunction;
using shunt::kMeta;
using shunt::kPrivateUse1;
using shunt::Layout;
using shunt::legacyExtractDispatchKey;
using shunt::List;
using shunt::make_intrusive;
using shunt::MemoryFormat;
using shunt::NotImplementedError;
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
using shunt::TensorImpl;
using shunt::TensorOptions;
using shunt::toBackendComponent;
using shunt::toString;
using shunt::TypedOperatorHandle;
using shunt::weak_intrusive_ptr;
using std::in_place;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string;
using string_view = std::string_view;
namespace guts {
using std::to_string;
}
namespace impl {
using shunt::CppSignature;
using shunt::ExcludeDispatchKeyGuard;
using shunt::GenericDict;
using shunt::GenericList;
using shunt::IncludeDispatchKeyGuard;
using shunt::toList;
using shunt::toTypedDict;
using shunt::toTypedList;
}  // namespace impl
}  // namespace c10

namespace caffe2 {
using shunt::TypeMeta;
}

namespace at {
using shunt::ArrayRef;
using shunt::AutoDispatchBelowADInplaceOrView;
using shunt::AutoDispatchBelowAutograd;
using shunt::AutoGradMode;
using shunt::Device;
using shunt::DeviceType;
using shunt::DispatchKey;
using shunt::DispatchKeySet;
using shunt::from_blob;
using shunt::GradMode;
using shunt::IntArrayRef;
using shunt::kBool;
using shunt::kByte;
using shunt::kCPU;
using shunt::kCUDA;
using shunt::kDouble;
using shunt::kFloat;
using shunt::kHalf;
using shunt::kInt;
using shunt::kLong;
using shunt::kMeta;
using shunt::Layout;
using shunt::MemoryFormat;
using shunt::NoGradGuard;
using shunt::Scalar;
using shunt::ScalarType;
using shunt::tensor;
using shunt::Tensor;
using shunt::TensorList;
using shunt::TensorOptions;
using std::nullopt;
using std::optional;
namespace detail {
using shunt::detail::make_tensor;
}
}  // namespace at

namespace torch {
using shunt::CppFunction;
using shunt::dispatch;
using shunt::Library;
using shunt::NoGradGuard;
using shunt::RegisterOperators;
using shunt::schema;
using shunt::Tensor;
using shunt::tensor;
namespace autograd {
using shunt::AutoGradMode;
}
namespace jit {
using shunt::drop;
using shunt::parseSchema;
using shunt::peek;
using shunt::pop;
using shunt::push;
using shunt::Stack;
}  // namespace jit
}  // namespace torch

#include <shunt_torch/operator_names.h>
