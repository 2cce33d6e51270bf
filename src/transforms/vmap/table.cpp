// The table of rules: what kernels/operators/batching.yaml says of each operator.
#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

#include <unordered_map>

namespace shunt::levels {
namespace {

const BatchRow kRows[] = {
#include "generated/batch_rules.inc"
};

std::unordered_map<const Operator*, const BatchRow*> makeIndex() {
  std::unordered_map<const Operator*, const BatchRow*> index;
  for (const BatchRow& row : kRows) index.emplace(row.op, &row);
  return index;
}

}  // namespace

const BatchRow* rowOf(const Operator& op) {
  static const auto index = makeIndex();
  const auto found = index.find(&op);
  return found == index.end() ? nullptr : found->second;
}

std::vector<const BatchRow*> randomRows() {
  std::vector<const BatchRow*> rows;
  for (const BatchRow& row : kRows)
    if (row.kind == BatchKind::kRandom) rows.push_back(&row);
  return rows;
}

}  // namespace shunt::levels
