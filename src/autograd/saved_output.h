// What a node saves in the place of its result, where an operator runs again: the result that it had the first time,
// whose version counter is the program's. Each thread's own.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::autograd {

/// While it lives, SavedVariable saves `first` for a result like it with the same number.
class SavesInstead {
 public:
  SavesInstead(const Tensor& first, uint32_t output_nr);
  ~SavesInstead();
  SavesInstead(const SavesInstead&) = delete;
  SavesInstead& operator=(const SavesInstead&) = delete;

  bool is_for(const Tensor& result, uint32_t output_nr) const;
  const Tensor& first() const { return first_; }

 private:
  const SavesInstead* const outer_;
  const Tensor& first_;
  const uint32_t output_nr_;
};

}  // namespace shunt::autograd
