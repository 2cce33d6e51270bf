// Saves and loads tensors in files that other programs read and write: safetensors, and NumPy's .npz and .npy
// (docs/files.md).
//
// save() and load() choose the format by the path's extension: .safetensors or .npz.
//   - All functions throw shunt::Error, which names the function, the path and the tensor, for files that are missing,
//     damaged or of another kind.
//   - Files need not be trusted: a damaged or hostile file gives an error, and takes memory in proportion to its size.
//   - Any thread may call. While a tensor is saved, no other thread may write to it.
//   - A function that loads or saves is never run as a graph by compile(): each call runs the function.
#pragma once

#include <shunt/tensor/tensor.h>

#include <map>
#include <string>

namespace shunt {

/// Writes the tensors, by name, and `metadata`, which only .safetensors files have.
///
/// Elements are written in row-major order, whatever the strides. A tensor that requires grad is saved without its
/// graph. A tensor of another device is copied to the CPU first. Throws for
///   - an undefined tensor, or one without data (meta, fake, a wrapper);
///   - bfloat16, or metadata, in an .npz;
///   - two tensors with common elements, because they would be loaded as separate tensors.
///
/// The file is written under another name in its folder, flushed to the disk and renamed. So if this throws, an
/// existing file is unchanged. Tensors that were loaded from the replaced file don't change.
SHUNT_API void save(const std::map<std::string, Tensor>& tensors, const std::string& path,
                    const std::map<std::string, std::string>& metadata = {});

/// The tensors of a file, by name, on the CPU. None requires grad. Inside a FakeTensorMode they are fake.
///
/// Tensors of an .npz file are copies. Tensors of a .safetensors file are its pages, mapped privately, so loading takes
/// almost no time and memory:
///   - A page is read when it is first touched. Writing to a tensor never changes the file.
///   - The mapping lives as long as one of the tensors. They can't be resized.
///   - While they live, the file must not be truncated (SIGBUS ends the program) or written in place (their elements
///     may change). save() to its path is allowed. A clone() doesn't need the file.
SHUNT_API std::map<std::string, Tensor> load(const std::string& path);

/// The tensor called `name` among those that load() returned. If there is none, throws an Error with the names that
/// there are, where `tensors.at(name)` throws a std::out_of_range that has no name in it.
SHUNT_API Tensor tensor_named(const std::map<std::string, Tensor>& tensors, const std::string& name);

/// The `metadata` of a file that save() wrote; empty if the file has none, as no .npz file has.
SHUNT_API std::map<std::string, std::string> load_metadata(const std::string& path);

/// Writes one tensor as an .npy file, in row-major order; otherwise as save(). Throws for bfloat16.
SHUNT_API void save_npy(const Tensor& tensor, const std::string& path);

/// The tensor of an .npy file of either byte order; a copy. Arrays in Fortran order have column-major strides.
SHUNT_API Tensor load_npy(const std::string& path);

}  // namespace shunt
