// Dispatch keys and dtypes by their names, for names that a person typed. Any thread.
#pragma once

#include <shunt/core/dispatch_key.h>
#include <shunt/tensor/scalar_type.h>

#include <string>
#include <string_view>
#include <vector>

namespace shunt {

/// "AutogradCPU", or a spelling that parseDispatchKey takes. Throws an Error with the names that are near.
SHUNT_API DispatchKey dispatchKeyNamed(std::string_view name);
/// "float32". Throws an Error with the names that are near; also for dtypes without tensors.
SHUNT_API ScalarType dtypeNamed(std::string_view name);

namespace detail {
/// The names that dispatchKeyNamed takes, without other spellings.
SHUNT_API std::vector<std::string> dispatchKeyNames();
/// The names that dtypeNamed takes.
SHUNT_API std::vector<std::string> dtypeNames();
}  // namespace detail

}  // namespace shunt
