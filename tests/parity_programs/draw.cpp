// Draws programs, prints and shrinks them.
#include "tests/parity_programs/draw.h"

#include "tests/parity/dtypes.h"
#include "tests/parity/random.h"

#include <cctype>
#include <sstream>

namespace parity_programs {
namespace {

using parity::Rng;

Input drawInput(Rng& rng) {
  static const std::vector<std::vector<int64_t>> kSizes = {{2, 3}, {2, 3}, {3}, {}, {3, 3}, {3, 3}, {1, 3}, {2, 1}};
  static const std::vector<int> kDtypes = {6, 6, 6, 6, 7, 4, 11, 15, 3};
  Input in{rng.pick(kSizes), rng.pick(kDtypes), false, rng.next() % 1000};
  in.requires_grad = parity::isFloating(in.dtype) && rng.chance(0.6);
  return in;
}

Step drawStep(Rng& rng, int slots) {
  static const std::vector<double> kValues = {-2, -0.5, 0.25, 1, 1.5, 2.5};
  Step step;
  step.row = static_cast<int>(rng.range(0, static_cast<int64_t>(shuntRows().size()) - 1));
  // Late ones more often.
  const auto slot = [&] {
    return static_cast<int>(rng.range(rng.chance(0.6) ? std::max(0, slots - 4) : 0, slots - 1));
  };
  step.a = slot();
  step.b = rng.chance(0.15) ? step.a : slot();
  step.i = rng.range(0, 1);
  step.v = rng.pick(kValues);
  step.no_grad = rng.chance(0.08);
  step.autocast = rng.chance(0.06);
  step.inference = rng.chance(0.05);
  return step;
}

std::string slotText(int slot) { return "t" + std::to_string(slot); }

std::string codeOf(const Step& step) {
  const std::string& text = shuntRows()[static_cast<size_t>(step.row)].code;
  const auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool alone = (at == 0 || !isWord(text[at - 1])) && (at + 1 == text.size() || !isWord(text[at + 1]));
    std::ostringstream v;
    v << step.v;
    if (alone && text[at] == 'a')
      out += slotText(step.a);
    else if (alone && text[at] == 'b')
      out += slotText(step.b);
    else if (alone && text[at] == 'i')
      out += "int64_t{" + std::to_string(step.i) + "}";
    else if (alone && text[at] == 'v')
      out += v.str() + (v.str().find('.') == std::string::npos ? ".0" : "");
    else
      out += text[at];
  }
  return out;
}

std::string guardsOf(const Step& step) {
  return std::string(step.no_grad ? "NoGradGuard no_grad; " : "") +
         (step.autocast ? "AutocastGuard autocast(kCPU); " : "") + (step.inference ? "InferenceMode inference; " : "");
}

}  // namespace

bool partlyOverlap(const Slot& x, const Slot& y) {
  const bool same = x.begin == y.begin && x.sizes == y.sizes && x.strides == y.strides && x.dtype == y.dtype;
  return !same && x.begin < y.end && y.begin < x.end;
}

Program draw(uint64_t seed) {
  Rng rng(seed);
  Program p;
  for (int64_t n = rng.range(2, 3); n > 0; --n) p.inputs.push_back(drawInput(rng));
  for (int64_t wanted = rng.range(2, 12); wanted > 0; --wanted)
    for (int tries = 0; tries < 6; ++tries) {
      p.steps.push_back(drawStep(rng, static_cast<int>(p.inputs.size() + p.steps.size())));
      // Few steps that fail, or whose operands are none, stay.
      const Outcome outcome = runShunt(p);
      const Step& step = p.steps.back();
      const RowInfo& info = shuntRows()[static_cast<size_t>(step.row)];
      const auto defined = [&](int slot) { return outcome.slots[static_cast<size_t>(slot)].defined; };
      const bool ran =
          outcome.errors.back().empty() && (defined(step.a) || !info.uses_a) && (defined(step.b) || !info.uses_b);
      const bool by_order =
          ran && !info.makes && info.uses_a && info.uses_b &&
          partlyOverlap(outcome.slots[static_cast<size_t>(step.a)], outcome.slots[static_cast<size_t>(step.b)]);
      if (!by_order && (ran || rng.chance(0.08))) break;
      p.steps.pop_back();
    }
  return p;
}

std::string codeOf(const Program& p) {
  std::ostringstream out;
  int slots = 0;
  for (const Input& in : p.inputs) {
    out << "  Tensor " << slotText(slots++) << " = input({";
    for (size_t i = 0; i < in.sizes.size(); ++i) out << (i == 0 ? "" : ", ") << in.sizes[i];
    out << "}, " << parity::dtypeConstant(in.dtype) << ", " << in.seed
        << (in.requires_grad ? ").requires_grad_();\n" : ");\n");
  }
  for (const Step& step : p.steps) {
    const int slot = slots++;
    if (step.row < 0) continue;
    const bool makes = shuntRows()[static_cast<size_t>(step.row)].makes;
    const std::string guards = guardsOf(step), code = (makes ? slotText(slot) + " = " : "") + codeOf(step) + ";";
    out << "  " << (makes ? "Tensor " : "");
    if (guards.empty())
      out << code << '\n';
    else
      out << (makes ? slotText(slot) + "; " : "") << "{ " << guards << code << " }\n";
  }
  return std::move(out).str();
}

Program shrunk(Program p, const std::function<bool(const Program&)>& differs) {
  for (bool again = true; again;) {
    again = false;
    const auto attempt = [&](auto&& change) {
      Program smaller = p;
      change(smaller);
      if (!differs(smaller)) return;
      p = std::move(smaller);
      again = true;
    };
    for (size_t i = p.steps.size(); i-- > 0;) {
      const Step& step = p.steps[i];
      if (step.row < 0) continue;
      attempt([&](Program& s) { s.steps[i].row = -1; });
      if (p.steps[i].no_grad) attempt([&](Program& s) { s.steps[i].no_grad = false; });
      if (p.steps[i].autocast) attempt([&](Program& s) { s.steps[i].autocast = false; });
      if (p.steps[i].inference) attempt([&](Program& s) { s.steps[i].inference = false; });
    }
  }
  return p;
}

}  // namespace parity_programs
