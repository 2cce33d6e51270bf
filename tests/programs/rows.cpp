// The operators that programs are made of. The text is the code: what is printed is what ran.
#include "tests/programs/program.h"

#include <string_view>

namespace programs {
namespace {

using namespace shunt;  // the printed code's

#define SHUNT_ROW_RUN(...)                                    \
  [](const Operands& o) -> Tensor {                           \
    [[maybe_unused]] Tensor a = o.a, b = o.b, c = o.c;        \
    [[maybe_unused]] const int64_t i = o.i, j = o.j, k = o.k; \
    [[maybe_unused]] const double v = o.v;                    \
    return __VA_ARGS__;                                       \
  }
#define SHUNT_ROW(tensors, numbers, ...) \
  Row { #__VA_ARGS__, tensors, numbers, false, false, SHUNT_ROW_RUN(__VA_ARGS__) }
#define SHUNT_FITTING(tensors, numbers, ...) \
  Row { #__VA_ARGS__, tensors, numbers, true, false, SHUNT_ROW_RUN(__VA_ARGS__) }
#define SHUNT_IN_PLACE(tensors, numbers, ...) \
  Row { #__VA_ARGS__, tensors, numbers, true, true, SHUNT_ROW_RUN(__VA_ARGS__) }

std::vector<Row> elementwise() {
  return {
      SHUNT_FITTING(2, "", a + b),
      SHUNT_FITTING(2, "", a - b),
      SHUNT_FITTING(2, "", a * b),
      SHUNT_FITTING(2, "", a / b),
      SHUNT_FITTING(2, "", add(a, b, v)),
      SHUNT_FITTING(2, "", maximum(a, b)),
      SHUNT_FITTING(2, "", minimum(a, b)),
      SHUNT_FITTING(2, "", a.lt(b)),
      SHUNT_FITTING(2, "", a.eq(b)),
      SHUNT_FITTING(3, "", addcmul(a, b, c, v)),
      SHUNT_FITTING(3, "", where(a.gt(0), b, c)),
      SHUNT_FITTING(2, "", a.masked_fill(b.gt(0), v)),
      SHUNT_ROW(1, "", a + v),
      SHUNT_ROW(1, "", v - a),
      SHUNT_ROW(1, "", a * v),
      SHUNT_ROW(1, "", a / v),
      SHUNT_ROW(1, "n", a.pow(i)),
      SHUNT_ROW(1, "", a.exp()),
      SHUNT_ROW(1, "", a.neg()),
      SHUNT_ROW(1, "", a.abs()),
      SHUNT_ROW(1, "", a.sqrt()),
      SHUNT_ROW(1, "", a.relu()),
      SHUNT_ROW(1, "", a.sigmoid()),
      SHUNT_ROW(1, "", a.tanh()),
      SHUNT_ROW(1, "", a.sin()),
      SHUNT_ROW(1, "", a.abs().log()),
      SHUNT_ROW(1, "", gelu(a)),
      SHUNT_ROW(1, "", clamp(a, -1, v)),
      SHUNT_ROW(1, "", a.clone()),
  };
}

std::vector<Row> inPlace() {
  return {
      SHUNT_IN_PLACE(2, "", a.add_(b)),           SHUNT_IN_PLACE(2, "", a.mul_(b)),
      SHUNT_IN_PLACE(2, "", a.sub_(b, v)),        SHUNT_IN_PLACE(2, "", a.div_(b)),
      SHUNT_IN_PLACE(2, "", a.copy_(b)),          SHUNT_IN_PLACE(1, "", a.add_(v)),
      SHUNT_IN_PLACE(1, "", a.mul_(v)),           SHUNT_IN_PLACE(1, "", a.zero_()),
      SHUNT_IN_PLACE(1, "", a.fill_(v)),          SHUNT_IN_PLACE(1, "", a.relu_()),
      SHUNT_IN_PLACE(1, "", a.sigmoid_()),        SHUNT_IN_PLACE(1, "", a.neg_()),
      SHUNT_IN_PLACE(1, "", a.tanh_()),           SHUNT_IN_PLACE(2, "", a.masked_fill_(b.gt(0), v)),
      SHUNT_IN_PLACE(3, "", a.addcmul_(b, c, v)),
  };
}

std::vector<Row> views() {
  return {
      SHUNT_ROW(1, "", a.view(-1)),           SHUNT_ROW(1, "", a.t()),
      SHUNT_ROW(1, "dd", a.transpose(i, j)),  SHUNT_ROW(1, "d", a.unsqueeze(i)),
      SHUNT_ROW(1, "d", a.squeeze(i)),        SHUNT_ROW(1, "de", a.select(i, j)),
      SHUNT_ROW(1, "dne", a.narrow(i, k, j)), SHUNT_ROW(1, "den", a.slice(i, j, 4, k)),
      SHUNT_ROW(1, "", a.diagonal()),         SHUNT_ROW(1, "", a.flatten()),
      SHUNT_ROW(1, "", a.detach()),           SHUNT_ROW(1, "d", chunk(a, 2, i)[0]),
      SHUNT_ROW(1, "d", a.unbind(i).at(0)),   SHUNT_ROW(1, "dn", a.split(j, i)[0]),
      SHUNT_ROW(2, "", a.expand_as(b)),       SHUNT_ROW(1, "", a.reshape(-1)),
      SHUNT_ROW(1, "", a.contiguous()),       SHUNT_ROW(2, "", a.view_as(b)),
  };
}

std::vector<Row> others() {
  return {
      SHUNT_ROW(1, "", a.sum()),
      SHUNT_ROW(1, "d", a.sum(i)),
      SHUNT_ROW(1, "d", a.mean(i, true)),
      SHUNT_ROW(1, "d", a.amax(i)),
      SHUNT_ROW(1, "d", a.argmax(i)),
      SHUNT_ROW(1, "d", std::get<0>(max(a, i))),
      SHUNT_ROW(1, "", a.max()),
      SHUNT_ROW(1, "d", a.gt(0).any(i)),
      SHUNT_ROW(1, "d", softmax(a, i)),
      SHUNT_ROW(1, "d", log_softmax(a, i)),
      SHUNT_ROW(2, "", matmul(a, b)),
      SHUNT_ROW(2, "", matmul(a, b.t())),
      SHUNT_ROW(2, "", a.mm(b)),
      SHUNT_ROW(3, "", addmm(a, b, c)),
      SHUNT_ROW(2, "", linear(a, b)),
      SHUNT_ROW(1, "", matmul(a, a.transpose(-1, -2))),
      SHUNT_ROW(2, "d", cat({a, b}, i)),
      SHUNT_ROW(2, "d", stack({a, b}, i)),
      SHUNT_ROW(1, "d", cat({a, a}, i)),
      SHUNT_ROW(1, "d", stack({a, a}, i)),
      SHUNT_ROW(1, "", a.to(kFloat)),
      SHUNT_ROW(1, "", a.to(kDouble)),
      SHUNT_ROW(1, "", a.to(kBFloat16)),
      SHUNT_ROW(1, "", clamp(a, -9, 9).to(kInt)),
      SHUNT_ROW(1, "nn", full({i, j}, v, kFloat)),
      SHUNT_ROW(1, "n", arange(i, kLong)),
      SHUNT_ROW(1, "n", eye(i)),
      SHUNT_ROW(1, "", zeros_like(a)),
      SHUNT_ROW(1, "", full_like(a, v)),
  };
}

std::vector<Row> allRows() {
  std::vector<Row> all;
  for (auto* part : {&elementwise, &inPlace, &views, &others})
    for (const Row& row : part()) all.push_back(row);
  return all;
}

}  // namespace

bool Row::is_factory() const {
  const std::string_view text = code;
  return text.starts_with("full(") || text.starts_with("arange(") || text.starts_with("eye(");
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = allRows();
  return all;
}

}  // namespace programs
