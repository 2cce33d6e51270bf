// What the schema does not say about an operator's arguments: how the tensors' shapes belong together, which contents
// make sense. One table (rules.cpp) for shapes and contents, one (arguments.cpp) for the other arguments; everything
// else is drawn from the schema. Constants; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace parity {

enum RuleFlag : unsigned {
  kMetadataOnly = 1,  // random or uninitialised results: compare all but the values
  kAccumulates = 2,   // sums many elements: no extremes, whose overflow depends on the order
  kNoExtremes = 4,    // libtorch's result for extremes is undefined (INT_MIN / -1)
  kCasts = 8,         // values must fit every dtype: others are undefined in C++
  kProbabilities = 16,
  kSameDtypes = 32,   // mixed dtypes only in invalid calls
  kNoInvalid = 128,   // libtorch does not check its arguments
  kNoOverlap = 256,   // libtorch writes beyond an expanded out= tensor
  kNoGradForm = 64,   // refuses floating-point numbers, or tensors that require grad
  kRarelyRuns = 512,  // of few matrices factors are asked for that they have, into results of the right dtypes
};

/// `shapes`: alternatives apart by '|', in each one token a tensor argument (not out=), apart by spaces:
///   %   broadcasts with the other %            @   the first tensor's shape         A   any shape
///   nk  dimensions named by letters (c, p, q and r are not empty)
///                                              *nk the same after batch dimensions  ~nm broadcasts to nm
///   ^nk the same after batch dimensions that broadcast (those of * and ^ belong together)
///   I   indices into dimension `dim`           S   source of index_add              M   boolean mask, broadcasts
///   C   classes of the first tensor            W   weight of each class             G   gradient of a loss
///   D   0 dimensions                           Q   total weight: D, positive        V   of a partial view's shape
///   L   list for cat                           K   list of one shape                F   the full broadcast shape
///   X   index of gather, for dimension `dim`   Y   source of scatter                B   indices of the first tensor's
///   rows N   normalized_shape                       T   the first tensor's, with 1 for each normalized dimension
///   U   image of a convolution or a pooling    H   its weights                      E   one for each channel of its
///   result O   its result's shape                     J   places in a plane of the image   Z   einsum's list
///   $   indices of index, for the first tensor P   values for what they choose
/// Digits are sizes.
struct Rule {
  std::string_view op;  // "mm", or with overload "max.dim"; in-place forms share the functional form's rule
  std::string_view shapes = "%";
  unsigned flags = 0;
};

/// The most exact rule: for name and overload, for the name, the default.
const Rule& ruleFor(std::string_view name, std::string_view overload);

/// Every result comes from the elements at its place: arguments may share memory whole.
bool isElementwise(const Rule& rule);

/// "aten::add_" gives "add".
std::string_view baseName(std::string_view name);

/// `*` stands for any characters.
bool globMatches(std::string_view pattern, std::string_view text);
/// `patterns`: several, between commas, with or without spaces.
bool anyGlobMatches(std::string_view patterns, std::string_view text);

}  // namespace parity
