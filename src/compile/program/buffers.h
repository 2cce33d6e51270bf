// Buffers: which of a program's intermediates need no tensors, and where their elements lie in one block of memory.
// Pure functions of a program without them.
//
// Note [Buffers]
// A result that nobody reads but regions, prepared steps and views for these is seen by no one as a tensor: its
// elements suffice. Sizes are known, so they get a place in a block of memory that each run has once, and those that
// aren't alive together share it. Where a region's result may take the memory of an input that ends there, it does.
// A view that only such readers have, of such a result or of a given tensor that the caller has compared, isn't made
// at all: its readers take the memory behind.
// A unit that can't run this way (something was registered meanwhile, a tensor lies in another way, a target that is no
// class) calls its operators, which want tensors. Then all buffers that are alive are copied into tensors, and the run
// goes on with these to its end (Program::leaveBuffers). Plans for which that happens in more than one run of eight,
// and runs where it would always do, have a program without buffers.
// A result that an output's tensor is to be made of stays a tensor, so that it isn't written twice.
#pragma once

#include "src/compile/program/placement.h"

namespace shunt::compiled {

struct Program;

/// Nothing of the draft, which was built with this placement, is kept.
Buffers findBuffers(const Aliases& aliases, const Placement& placement, const Program& draft);

}  // namespace shunt::compiled
