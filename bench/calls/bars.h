// What the figures must reach, beside which the report prints them: the time of a case over the time of another, or in
// ns.
#pragma once

#include "bench/calls/sides.h"
#include "bench/verdict.h"

#include <string>

namespace bench {

struct Bar {
  std::string what;
  std::string key;  // the case that is judged, run by `side`
  Side side = Side::kInterpreted;
  std::string against;  // the case it is divided by, run by `against_side`; empty: nanoseconds
  Side against_side = Side::kLibtorch;
  double most = 0;
};

inline const Bar kBars[] = {
    {"add of 16 floats", "add/16/no_grad", Side::kInterpreted, "add/16/no_grad", Side::kLibtorch, 0.25},
    {"mul of 16 floats", "mul/16/no_grad", Side::kInterpreted, "mul/16/no_grad", Side::kLibtorch, 0.25},
    {"relu of 16 floats", "relu/16/no_grad", Side::kInterpreted, "relu/16/no_grad", Side::kLibtorch, 0.25},
    {"sigmoid of 16 floats", "sigmoid/16/no_grad", Side::kInterpreted, "sigmoid/16/no_grad", Side::kLibtorch, 0.25},
    {"add of 16 floats, grad", "add/16/grad", Side::kInterpreted, "add/16/grad", Side::kLibtorch, 1 / 3.0},
    {"mul of 16 floats, grad", "mul/16/grad", Side::kInterpreted, "mul/16/grad", Side::kLibtorch, 1 / 3.0},
    {"relu of 16 floats, grad", "relu/16/grad", Side::kInterpreted, "relu/16/grad", Side::kLibtorch, 1 / 3.0},
    {"sigmoid of 16 floats, grad", "sigmoid/16/grad", Side::kInterpreted, "sigmoid/16/grad", Side::kLibtorch, 1 / 3.0},
    {"add of 16 Ki floats", "add/16384/no_grad", Side::kInterpreted, "add/16384/no_grad", Side::kLibtorch, 1.0},
    {"sigmoid of 16 Ki floats", "sigmoid/16384/no_grad", Side::kInterpreted, "sigmoid/16384/no_grad", Side::kLibtorch,
     0.65},
    {"digits step, batch 32", "digits_step/32/grad", Side::kInterpreted, "digits_step/32/grad", Side::kLibtorch, 0.5},
    {"10,000 operators against 100", "call with 10000 operators", Side::kInterpreted, "call with 100 operators",
     Side::kInterpreted, 1.05},
    {"registering one, in ns", "register one operator", Side::kInterpreted, "", Side::kInterpreted, 20000},
    {"tensor against two mallocs", "tensor of 16 floats", Side::kInterpreted, "two malloc and free", Side::kInterpreted,
     1.3},
    {"tensor of 16 floats, in ns", "tensor of 16 floats", Side::kInterpreted, "", Side::kInterpreted, 20},
    {"tensor against two mallocs, freed on another thread", "tensor of 16 floats, freed on another thread",
     Side::kInterpreted, "two malloc, freed on another thread", Side::kInterpreted, 1.3},
};

/// `measured` is NaN where a side has no figure.
inline Verdict verdictOf(const Bar& bar, double measured) {
  const bool needs_libtorch = !bar.against.empty() && bar.against_side == Side::kLibtorch;
  return judge(measured, bar.most, std::isnan(measured) && needs_libtorch ? lackOfLibtorch() : Lack::kNothing);
}

}  // namespace bench
