// What factories share: the checks of sizes and options, and making an uninitialised tensor on any backend.
// Pure functions of their arguments; any thread.
#pragma once

#include <shunt/tensor/tensor.h>

#include <initializer_list>

namespace shunt::native {

/// The options that only Strided, unpinned tensors of a known dtype pass; else an error that names the operator.
void checkOptions(const char* op, ScalarType dtype, std::optional<Layout> layout, std::optional<bool> pin_memory);

/// Throws unless sizes are not negative and numel and bytes fit; returns numel.
int64_t checkedSizes(const char* op, IntArrayRef sizes, ScalarType dtype);

/// Uninitialised. CPU and Meta directly, other devices through the dispatcher. Options are checked.
Tensor makeEmpty(const char* op, IntArrayRef sizes, ScalarType dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory,
                 std::optional<MemoryFormat> memory_format = std::nullopt);
Tensor makeEmptyStrided(const char* op, IntArrayRef sizes, IntArrayRef strides, ScalarType dtype,
                        std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory);

/// Strides of `format` for `sizes`. Throws when the rank does not fit the format.
void stridesFor(const char* op, MemoryFormat format, IntArrayRef sizes, int64_t* strides);

/// Gives `out` the sizes: nothing when it has them already, else resized (PyTorch warns where it had elements).
void resizeOutput(const Tensor& out, IntArrayRef sizes, MemoryFormat format = MemoryFormat::Contiguous);
/// The same for an output that may share storage with what is read: an error where it would grow over that.
void resizeOutputApart(const char* op, const Tensor& out, IntArrayRef sizes, std::initializer_list<const Tensor*> read);

}  // namespace shunt::native
