// Tensors in files that other programs read and write: safetensors, and NumPy's .npz and .npy (docs/files.md).
//
// save() and load() choose the format by the path's extension: .safetensors or .npz. All functions throw shunt::Error,
// which names the function, the path and the tensor, for files that are missing, damaged or of another kind. Files may
// come from anyone: a damaged or hostile one gives an error, and takes memory in proportion to its size. Any thread;
// while one saves a tensor, no other may write to it.
//
// Inside a function that compile() records, all of these are refused for the graph, and the function is called instead.
#pragma once

#include <shunt/tensor/tensor.h>

#include <map>
#include <string>

namespace shunt {

/// Writes the tensors, by name, and `metadata`, for which only .safetensors has a place.
///
/// Elements are written in row-major order, whatever the strides. A tensor that requires grad is saved without its
/// graph, one of another device from a copy on the CPU. Errors: an undefined tensor, one without elements of its own
/// (meta, fake, a wrapper), bfloat16 in an .npz, and two tensors that share memory: both names would be read back as
/// tensors of their own.
///
/// The file is written under another name in its folder, flushed to the disk and renamed: when this throws, an existing
/// file is as it was, and where it is loaded, its tensors stay as they are.
SHUNT_API void save(const std::map<std::string, Tensor>& tensors, const std::string& path,
                    const std::map<std::string, std::string>& metadata = {});

/// The tensors of a file, by name, on the CPU; none requires grad.
///
/// Those of a .safetensors file are its pages, mapped privately and read when they are first touched: loading takes no
/// time and no memory to speak of. Writing to such a tensor changes the tensor only, never the file. The mapping lives
/// as long as one of the tensors; such tensors can't be resized. While they live the file must not be cut short or
/// written to in place, which ends the program by SIGBUS or changes their elements; save() to its path is fine, and
/// clone() makes a tensor that needs no file. Tensors of an .npz file are copies.
///
/// Inside of a FakeTensorMode the tensors are fake.
SHUNT_API std::map<std::string, Tensor> load(const std::string& path);

/// What was given to save() as `metadata`; empty where the file has none, and for .npz.
SHUNT_API std::map<std::string, std::string> load_metadata(const std::string& path);

/// Writes one tensor as NumPy's save does, in row-major order; as save() in all else. Not for bfloat16.
SHUNT_API void save_npy(const Tensor& tensor, const std::string& path);

/// The tensor of an .npy file, of either byte order. One written in Fortran's order has the strides of it.
SHUNT_API Tensor load_npy(const std::string& path);

}  // namespace shunt
