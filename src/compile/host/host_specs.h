// What a host says of its tensors: checked, completed, compared. Pure functions; any thread.
#pragma once

#include <shunt/compile/host_plan.h>
#include <shunt/trace/graph.h>

#include <string>

namespace shunt::compiled {

/// With strides. Throws Error, beginning with `what`, for sizes, strides or an offset that no tensor has, a dtype that
/// Shunt hasn't, and more bytes than an address reaches.
HostSpec completed(HostSpec spec, const std::string& what);
/// Bytes of a storage until behind the last element; 0 where there are none.
size_t bytesOf(const HostSpec& spec);
int64_t numelOf(const HostSpec& spec);

HostSpec hostSpecOf(const Graph::Spec& spec);
Graph::Spec graphSpecOf(const HostSpec& spec);
/// "float32[2, 3] with strides [3, 1] at offset 0"
std::string textOf(const HostSpec& spec);

/// Whether both show the same, where that is seen: of tensors without elements and of dimensions of size 1, strides
/// aren't.
bool showsTheSame(const HostSpec& a, const HostSpec& b);

}  // namespace shunt::compiled
