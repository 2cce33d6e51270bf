// The text of a plan's description.
#include <shunt/compile/plan_description.h>

#include <shunt/core/array_ref.h>
#include <shunt/core/error.h>

#include <algorithm>
#include <sstream>

namespace shunt {
namespace {

using detail::str;

const char* textOf(PlanPart::Call call) {
  switch (call) {
    case PlanPart::Call::kWithAutograd:
      return ", with autograd";
    case PlanPart::Call::kDispatched:
      return "";
    case PlanPart::Call::kDirect:
      return ", without dispatch";
    case PlanPart::Call::kDirectWithoutCopy:
      return ", without dispatch or copy";
    case PlanPart::Call::kLate:
      return ", late";
    case PlanPart::Call::kArgument:
      return ", which its argument becomes";
    case PlanPart::Call::kPrepared:
      return ", prepared";
    case PlanPart::Call::kPreparedWithView:
      return ", prepared, with its view";
    case PlanPart::Call::kPreparedWithoutViews:
      return ", prepared, without views";
    case PlanPart::Call::kPreparedWithoutTensor:
      return ", prepared, without a tensor";
    case PlanPart::Call::kHost:
      return "";
    case PlanPart::Call::kHostWithoutTensors:
      return ", without tensors";
  }
  return "";
}

bool isOfHost(PlanPart::Call call) {
  return call == PlanPart::Call::kHost || call == PlanPart::Call::kHostWithoutTensors;
}

/// "96 bytes, 64 flops"; without what is 0.
std::string costs(int64_t bytes, int64_t flops) {
  std::string out;
  if (bytes != 0) out = str(bytes, " bytes");
  if (flops != 0) out += str(out.empty() ? "" : ", ", flops, " flops");
  return out;
}

std::string textOfCall(const PlanPart& p) {
  const std::string cost = costs(p.bytes, p.flops);
  const std::string name = isOfHost(p.call) ? "host step '" + p.operators.at(0) + "'" : p.operators.at(0);
  return str("call ", name, textOf(p.call), cost.empty() ? "" : ": ", cost, '\n');
}

std::string noted(size_t n, const char* what) { return n == 0 ? "" : str(" (", n, ' ', what, ')'); }

std::string howRun(const PlanPart& p) {
  if (p.kind == PlanPart::Kind::kRegion)
    return str(p.buffers, " buffers, blocks of ", p.block, ", ", p.bytes, " bytes; ", p.code->text());
  std::string text = str(p.buffers, " buffers, ", p.bytes, " bytes; ", p.block, " rows at a time");
  if (p.parameters != 0) text += str(", ", p.parameters, p.parameters == 1 ? " node" : " nodes", " as weight or bias");
  if (p.before) text += "; before: " + p.before->text();
  if (p.after) text += "; after: " + p.after->text();
  return text;
}

}  // namespace

std::string PlanCode::text() const {
  switch (state) {
    case State::kNative:
      return "native (" + note + ")";
    case State::kCompiling:
      return "being compiled";
    case State::kInterpreted:
      break;
  }
  return note.empty() ? "interpreted" : "interpreted: " + note;
}

std::string PlanPart::text() const {
  if (kind == Kind::kCall) return textOfCall(*this);
  std::ostringstream out;
  out << (kind == Kind::kRows ? "rows of " : "region of ") << operators.size() << " over " << IntArrayRef(sizes) << ": "
      << inputs << " inputs, " << outputs << " outputs" << noted(in_inputs_memory, "in an input's memory")
      << noted(without_tensors, "without tensors") << ", " << howRun(*this) << '\n';
  for (const std::string& op : operators) out << "  " << op << '\n';
  return out.str();
}

size_t PlanDescription::count(PlanPart::Kind kind) const {
  return static_cast<size_t>(std::ranges::count(parts, kind, &PlanPart::kind));
}

size_t PlanDescription::calls(std::string_view op) const {
  return static_cast<size_t>(std::ranges::count_if(
      parts, [&](const PlanPart& p) { return p.kind == PlanPart::Kind::kCall && p.operators.at(0) == op; }));
}

size_t PlanDescription::calls(std::string_view op, PlanPart::Call call) const {
  return static_cast<size_t>(std::ranges::count_if(parts, [&](const PlanPart& p) {
    return p.kind == PlanPart::Kind::kCall && p.call == call && p.operators.at(0) == op;
  }));
}

size_t PlanDescription::calls(PlanPart::Call call) const {
  return static_cast<size_t>(std::ranges::count_if(
      parts, [&](const PlanPart& p) { return p.kind == PlanPart::Kind::kCall && p.call == call; }));
}

std::string PlanDescription::text() const {
  std::ostringstream out;
  for (const std::string& view : trailing_views) out << "then " << view << ", with autograd\n";
  if (operators_alone) {
    out << of << ": " << *operators_alone << " operators\n";
    return out.str();
  }
  if (!of.empty()) out << of << ":\n";
  if (is_one_loop) out << "one loop, whose results are the graph's\n";
  int64_t bytes = 0, flops = 0;
  for (const PlanPart& p : parts) {
    out << p.text();
    bytes += p.bytes;
    flops += p.flops;
  }
  const size_t called = count(PlanPart::Kind::kCall);
  const std::string cost = costs(bytes, flops);
  out << "in all " << parts.size() - called << " regions, " << called << " calls" << (cost.empty() ? "" : "; ") << cost
      << '\n';
  if (buffers != 0) out << buffers << " results without tensors, in " << buffer_bytes << " bytes\n";
  return out.str();
}

std::string textOf(const std::vector<PlanDescription>& plans) {
  std::string text;
  for (const PlanDescription& plan : plans) text += plan.text();
  return text;
}

}  // namespace shunt
