// Which operator, dtype and form got how many cases. A cell is one of each; the plan gives every cell a case before any
// cell its second.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace parity {

struct Cell {
  size_t op;
  int dtype;
  bool with_grad;
};

struct CellHits {
  int drawn = 0;             // cases
  int ran = 0;               // that no library refused
  int refused_as_known = 0;  // by one library only, as a known difference says
  int requires_grad = 0;     // of those that ran: some result of both requires grad
  int backward = 0;          // whose gradients were compared, or have no derivative in both
  int backward_known = 0;    // or that differ in whether they have any, as a known difference says
};

/// Whether the error of a backward pass, of either library, says that the operator has no derivative; not that a kernel
/// of the pass lacks the dtype.
bool lacksDerivative(std::string_view error);

class Coverage {
 public:
  Coverage(std::vector<std::string> ops, std::vector<Cell> cells)
      : ops_(std::move(ops)), cells_(std::move(cells)), hits_(cells_.size()) {}
  CellHits& hits(size_t cell) { return hits_[cell]; }
  /// One line an operator: cases/cases that ran for each dtype, backward passes in parentheses.
  void print(std::ostream& out) const;
  /// Cases of the cell with the fewest, and with the most.
  int fewest() const;
  int most() const;
  /// Cells without a case, forms of operators of which no case of any dtype ran, and those with a gradient of which
  /// none was compared.
  std::vector<std::string> holes() const;

 private:
  std::vector<std::string> ops_;
  std::vector<Cell> cells_;
  std::vector<CellHits> hits_;
};

}  // namespace parity
