#include "tests/parity/coverage.h"

#include "tests/parity/dtypes.h"

#include <algorithm>
#include <map>

namespace parity {

bool lacksDerivative(std::string_view error) {
  const size_t derivative = error.find("derivative for ");
  return derivative != error.npos && error.find(" is not implemented", derivative) != error.npos;
}

void Coverage::print(std::ostream& out) const {
  out << "cases drawn/ran(with backward) by operator and dtype; forms: functional, in-place (add_), out= (add.out); "
         "+grad\n";
  size_t op = ops_.size();
  bool grad = false;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    if (i == 0 || cell.op != op || cell.with_grad != grad) {
      op = cell.op;
      grad = cell.with_grad;
      out << (i ? "\n" : "") << ops_[op] << (grad ? " +grad" : "") << ":";
    }
    const CellHits& h = hits_[i];
    out << ' ' << dtypeName(cell.dtype) << ' ' << h.drawn << '/' << h.ran;
    if (grad) out << '(' << h.backward << ')';
  }
  out << '\n';
}

int Coverage::fewest() const { return std::ranges::min(hits_, {}, &CellHits::drawn).drawn; }
int Coverage::most() const { return std::ranges::max(hits_, {}, &CellHits::drawn).drawn; }

std::vector<std::string> Coverage::holes() const {
  std::vector<std::string> found;
  std::map<std::pair<size_t, bool>, int> ran;
  std::map<size_t, std::pair<int, int>> gradients;  // those that there are, those that were looked at
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (hits_[i].drawn == 0)
      found.push_back(ops_[cells_[i].op] + " " + dtypeName(cells_[i].dtype) + (cells_[i].with_grad ? " +grad" : "") +
                      ": no case");
    ran[{cells_[i].op, cells_[i].with_grad}] += hits_[i].ran + hits_[i].refused_as_known;
    if (!cells_[i].with_grad) continue;
    gradients[cells_[i].op].first += hits_[i].requires_grad;
    gradients[cells_[i].op].second += hits_[i].backward + hits_[i].backward_known;
  }
  for (const auto& [form, count] : ran)
    if (count == 0)
      found.push_back(ops_[form.first] + (form.second ? " +grad" : "") + ": every case of every dtype was refused");
  for (const auto& [op, counts] : gradients)
    if (counts.first > 0 && counts.second == 0) found.push_back(ops_[op] + " +grad: no gradient was compared");
  return found;
}

}  // namespace parity
