// PyTorch's macros, by Shunt's. Defined only for sources that include the headers written for PyTorch.
#pragma once

#include <shunt/core/library.h>

#define TORCH_API SHUNT_API
#define C10_API SHUNT_API
#define C10_EXPORT SHUNT_API
#define CAFFE2_API SHUNT_API
#define C10_UNUSED [[maybe_unused]]
#define C10_ALWAYS_INLINE SHUNT_ALWAYS_INLINE
#define C10_NOINLINE SHUNT_NOINLINE
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_HOST_DEVICE

#define TORCH_CHECK(...) SHUNT_CHECK(__VA_ARGS__)
#define TORCH_CHECK_INDEX(...) SHUNT_CHECK_INDEX(__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(...) SHUNT_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERT(...) SHUNT_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ERROR(...) SHUNT_CHECK(false, __VA_ARGS__)

#define TORCH_FN(...) SHUNT_FN(__VA_ARGS__)
#define TORCH_LIBRARY(ns, m) SHUNT_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) SHUNT_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) SHUNT_LIBRARY_IMPL(ns, key, m)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
#define MAKE_TORCH_LIBRARY(ns) ::shunt::Library(::shunt::Library::Kind::kDef, #ns)
#define MAKE_TORCH_LIBRARY_IMPL(ns, key) ::shunt::Library(::shunt::Library::Kind::kImpl, #ns, ::shunt::DispatchKey::key)
