// PyTorch's macros, defined in terms of Shunt's. Only sources that include the headers written for PyTorch see them.
#pragma once

#include <shunt/core/library.h>

#include <shunt_torch/errors.h>

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

// A check without a message reports its condition.
#define SHUNT_TORCH_MESSAGE(condition, ...) \
  ::shunt::detail::messageOr("Expected " #condition " to be true, but got false." __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_WITH(type, condition, ...)                                                            \
  do {                                                                                                    \
    if (!(condition)) [[unlikely]]                                                                        \
      ::shunt::detail::throwAs<::shunt::type>(SHUNT_TORCH_MESSAGE(condition __VA_OPT__(, ) __VA_ARGS__)); \
  } while (false)
#define TORCH_CHECK(...) TORCH_CHECK_WITH(Error, __VA_ARGS__)
#define TORCH_CHECK_INDEX(...) TORCH_CHECK_WITH(IndexError, __VA_ARGS__)
#define TORCH_CHECK_VALUE(...) TORCH_CHECK_WITH(ValueError, __VA_ARGS__)
#define TORCH_CHECK_TYPE(...) TORCH_CHECK_WITH(TypeError, __VA_ARGS__)
#define TORCH_CHECK_LINALG(...) TORCH_CHECK_WITH(LinAlgError, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(...) TORCH_CHECK_WITH(NotImplementedError, __VA_ARGS__)
#define TORCH_CHECK_ARG(condition, argument, ...) \
  TORCH_CHECK(condition, "invalid argument ", argument, ": ", __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) SHUNT_INTERNAL_ASSERT(condition, "" __VA_OPT__(, ) __VA_ARGS__)
#ifdef NDEBUG
// Compiled, so that errors in it are found, but never run.
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
  while (false) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERTM(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ERROR(...) SHUNT_CHECK(false, __VA_ARGS__)
#define AT_INDEX_ERROR(...) SHUNT_CHECK_INDEX(false, __VA_ARGS__)
#define C10_THROW_ERROR(type, message) ::shunt::detail::throwAs<::shunt::type>(message)

#define TORCH_WARN(...) ::shunt::detail::logWarning(::shunt::detail::str(__VA_ARGS__))
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                                           \
  do {                                                                                 \
    [[maybe_unused]] static const bool shunt_warned = (TORCH_WARN(__VA_ARGS__), true); \
  } while (false)
#define C10_LOG_API_USAGE_ONCE(...) \
  do {                              \
  } while (false)

#define TORCH_FN(...) SHUNT_FN(__VA_ARGS__)
#define TORCH_LIBRARY(ns, m) SHUNT_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) SHUNT_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) SHUNT_LIBRARY_IMPL(ns, key, m)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
#define MAKE_TORCH_LIBRARY(ns) ::shunt::Library(::shunt::Library::Kind::kDef, #ns)
#define MAKE_TORCH_LIBRARY_IMPL(ns, key) ::shunt::Library(::shunt::Library::Kind::kImpl, #ns, ::shunt::DispatchKey::key)
