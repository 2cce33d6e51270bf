// Finds dispatch keys and dtypes by a name that a person typed. Any thread.
#pragma once

#include <shunt/core/dispatch_key.h>
#include <shunt/tensor/scalar_type.h>

#include <string>
#include <string_view>
#include <vector>

namespace shunt {

/// The key named "AutogradCPU", or another spelling that parseDispatchKey takes. Throws shunt::Error with similar
/// names.
SHUNT_API DispatchKey dispatchKeyNamed(std::string_view name);
/// The dtype named "float32". Throws shunt::Error with similar names, also for dtypes that tensors can't have.
SHUNT_API ScalarType dtypeNamed(std::string_view name);

namespace detail {
/// The names that dispatchKeyNamed takes, without alternative spellings.
SHUNT_API std::vector<std::string> dispatchKeyNames();
/// The names that dtypeNamed takes.
SHUNT_API std::vector<std::string> dtypeNames();
}  // namespace detail

}  // namespace shunt
