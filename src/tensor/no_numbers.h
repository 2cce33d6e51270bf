// Who wants the elements of a tensor that has none gets this; fake tensors (src/transforms/fake/fallback.cpp), and vmap
// of a batch without samples, tell it from others.
#pragma once

#include <shunt/core/error.h>

namespace shunt {

class NoNumbersError : public Error {
 public:
  using Error::Error;
};

}  // namespace shunt
