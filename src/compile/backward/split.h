// Parts of a joint graph: what runs when the function is called, and what its backward pass runs. Pure functions.
//
// Note [What is saved]
// The backward pass reads what the function was given, what it returned, and what it has made on the way. It saves
// these as they are in the end: where they were written after autograd had saved them, recording the pass is an error,
// as the pass itself is in eager code. Views are no part of it, where nothing writes to them: they are made again of
// what they are views of.
#pragma once

#include "src/compile/backward/joint.h"

#include <vector>

namespace shunt::compiled {

/// A value that the backward pass reads.
struct SavedValue {
  bool is_given = false;  // else a result
  size_t number = 0;      // among the given ones; of a result: its node
  size_t output = 0, element = 0;
  bool operator==(const SavedValue&) const = default;
};

std::vector<Graph::Value*> valuesOf(const Joint& joint, const std::vector<SavedValue>& saved);

/// What eager code saves for the joint graph's backward pass.
std::vector<SavedValue> savedFor(const Joint& joint);

/// The function's outputs, then the saved values that are results, of its inputs.
Graph forwardOf(const Joint& joint, const std::vector<SavedValue>& saved);

/// The values `remade` of those saved.
Graph remadeOf(const Joint& joint, const std::vector<SavedValue>& saved, const std::vector<SavedValue>& remade);

/// The contributions (null: none) of the saved values, then the gradient; `of_any_layout`: also of gradients that lie
/// otherwise than the recorded one. Throws Error where it reads a given tensor that isn't saved.
Graph backwardOf(const Joint& joint, const std::vector<SavedValue>& saved, bool of_any_layout);

}  // namespace shunt::compiled
