// Runs programs, and reads and compares what they leave.
#include "tests/programs/execution.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace programs {
namespace {

/// NaN equals NaN: signs and payloads are not promised.
template <class T>
void sameNaN(std::string& bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, &bytes[at], sizeof x);
    if (std::isnan(static_cast<double>(x))) std::memset(&bytes[at], 0xff, sizeof x);
  }
}

std::string bytesOf(const Tensor& t) {
  const Tensor whole = t.detach().contiguous();
  std::string bytes(static_cast<const char*>(whole.data_ptr()), whole.nbytes());
  switch (t.dtype()) {
    case shunt::kFloat:
      sameNaN<float>(bytes);
      break;
    case shunt::kDouble:
      sameNaN<double>(bytes);
      break;
    case shunt::kBFloat16:
      sameNaN<shunt::BFloat16>(bytes);
      break;
    default:
      break;
  }
  return bytes;
}

std::string errorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& e) {  // also that of a list that has no first tensor
    return e.what();
  }
  return "";
}

SlotState stateOf(const Tensor& t, bool values) {
  SlotState s;
  s.defined = t.defined();
  if (!s.defined) return s;
  s.sizes = t.sizes().vec();
  s.strides = t.strides().vec();
  s.dtype = t.dtype();
  s.offset = t.storage_offset();
  s.version = t._version();
  s.requires_grad = t.requires_grad();
  const std::string error = errorOf([&] {
    if (t.grad_fn()) s.grad_fn = t.grad_fn()->name();
  });
  if (!error.empty()) s.grad_fn = error;
  if (values) s.bytes = bytesOf(t);
  return s;
}

std::string numbersText(const std::vector<int64_t>& v) { return shunt::detail::str(shunt::IntArrayRef(v)); }

std::string hexOf(const std::string& bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size() && i < 64; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(bytes[i]) >> 4];
    out += kDigits[bytes[i] & 15];
    if (i % 4 == 3) out += ' ';
  }
  return out;
}

std::string slotDifference(const SlotState& e, const SlotState& g, Level level) {
  const auto differ = [](const char* what, const auto& a, const auto& b) {
    return shunt::detail::str(what, ": expected ", a, ", got ", b);
  };
  if (e.defined != g.defined) return differ("defined", e.defined, g.defined);
  if (!e.defined) return "";
  if (e.sizes != g.sizes) return differ("sizes", numbersText(e.sizes), numbersText(g.sizes));
  if (e.dtype != g.dtype) return differ("dtype", e.dtype, g.dtype);
  if (e.requires_grad != g.requires_grad) return differ("requires_grad", e.requires_grad, g.requires_grad);
  if (e.strides != g.strides) return differ("strides", numbersText(e.strides), numbersText(g.strides));
  if (e.offset != g.offset) return differ("storage offset", e.offset, g.offset);
  if (level != Level::kValues) {
    if (e.grad_fn != g.grad_fn) return differ("grad_fn", e.grad_fn, g.grad_fn);
    if (e.alias != g.alias) return differ("shares the storage of", e.alias, g.alias);
  }
  if (level == Level::kAll && e.version != g.version) return differ("version", e.version, g.version);
  if (level != Level::kGeometry && e.bytes != g.bytes) return differ("bytes", hexOf(e.bytes), hexOf(g.bytes));
  return "";
}

template <class T>
void positiveZeros(std::string& bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, &bytes[at], sizeof x);
    if (static_cast<double>(x) == 0) std::memset(&bytes[at], 0, sizeof x);
  }
}

/// Gradients of functional programs go through more additions of zeros, which turn -0 into 0, and other views, which
/// leave other strides where a size is 1.
SlotState asCompared(SlotState s, Level level) {
  if (level != Level::kValues) return s;
  if (s.dtype == shunt::kFloat) positiveZeros<float>(s.bytes);
  if (s.dtype == shunt::kDouble) positiveZeros<double>(s.bytes);
  if (s.dtype == shunt::kBFloat16) positiveZeros<shunt::BFloat16>(s.bytes);
  for (size_t d = 0; d < s.sizes.size(); ++d)
    if (s.sizes[d] == 1) s.strides[d] = 0;
  return s;
}

/// What rounding to the coarsest dtype among the slots loses, where that is coarser than `dtype`.
double roundingBelow(shunt::ScalarType dtype, const Outcome& of) {
  double out = 0;
  for (const SlotState& s : of.slots) {
    if (!s.defined) continue;
    if (s.dtype == shunt::kFloat && dtype == shunt::kDouble) out = std::max(out, 0x1p-24);
    if (s.dtype == shunt::kBFloat16) out = std::max(out, 0x1p-8);
  }
  return out;
}

template <class T>
void takeRounded(const std::string& plain, std::string& functional, double rounding) {
  for (size_t at = 0; at < plain.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, &plain[at], sizeof a);
    std::memcpy(&b, &functional[at], sizeof b);
    if (std::abs(a - b) <= 8 * rounding * std::abs(a)) std::memcpy(&functional[at], &a, sizeof a);
  }
}

/// A wide operand of an in-place operator on a narrow tensor: the plain gradient was computed in the narrow dtype, the
/// functional one in the wide one, since the cast stands at another place. `functional` with the plain elements where
/// only that tells them apart.
SlotState roundedAs(const SlotState& plain, SlotState functional, const Outcome& of) {
  if (plain.dtype != functional.dtype || plain.bytes.size() != functional.bytes.size()) return functional;
  const double rounding = roundingBelow(plain.dtype, of);
  if (plain.dtype == shunt::kDouble) takeRounded<double>(plain.bytes, functional.bytes, rounding);
  if (plain.dtype == shunt::kFloat) takeRounded<float>(plain.bytes, functional.bytes, rounding);
  return functional;
}

/// An error that functional programs don't have: they come to the next one, if there is one.
bool isPlainOnly(const std::string& plain) {
  return plain.find("its base or another view of its base has been modified inplace") != std::string::npos;
}

/// Functional programs write nothing that backward needs, nor to gradients that show an element twice, and so have
/// gradients where the plain ones have an error; and a detached alias can't take what requires grad, nor elements that
/// share memory different values. What comes after is not the same program any more.
bool partWays(const std::string& plain, const std::string& functional) {
  const auto says = [](const std::string& error, const char* text) { return error.find(text) != std::string::npos; };
  if (functional.empty())
    return says(plain, "modified by an inplace operation") || isPlainOnly(plain) ||
           says(plain, "more than one element of the written-to tensor refers to a single memory location");
  return plain.empty() && (says(functional, "what is written to a detached alias requires grad") ||
                           says(functional, "would write different values to elements"));
}

}  // namespace

Execution::Execution(const std::vector<Input>& inputs, const World& world) : world_(world), inputs_(inputs.size()) {
  for (const Input& input : inputs) slots_.push_back(world.enter(makeInput(input)));
}

Execution::Execution(std::vector<Tensor> inputs, const World& world)
    : world_(world), inputs_(inputs.size()), slots_(std::move(inputs)) {}

namespace {

Nodes nodesOf(const std::vector<Tensor>& tensors) {
  Nodes out;
  for (const Tensor& t : tensors)
    if (t.defined()) errorOf([&] { out.push_back(t.grad_fn()); });
  return out;
}

}  // namespace

void releaseGraphs(const std::vector<Tensor>& tensors) { releaseGraphs(nodesOf(tensors)); }

void releaseGraphs(Nodes first) {
  Nodes nodes;  // all held, as one may own the next
  std::set<const shunt::Node*> seen;
  const auto add = [&](const shunt::intrusive_ptr<shunt::Node>& node) {
    if (node && seen.insert(node.get()).second) nodes.push_back(node);
  };
  for (const auto& node : first) add(node);
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const auto& edge : nodes[i]->next_edges()) add(edge.function);
  for (const auto& node : nodes) node->release_variables();
}

Nodes Execution::takeGraphs() { return std::exchange(changed_, {}); }

Execution::~Execution() { releaseGraphs(std::move(changed_)); }

std::string Execution::take(const Step& step) {
  return errorOf([&] { run(step); });
}

void Execution::skip(const Step& step) {
  if (!step.row->in_place) slots_.emplace_back();
}

void Execution::run(const Step& step) {
  const auto operand = [&](size_t i) {
    return step.row->tensors > static_cast<int>(i) ? slots_[static_cast<size_t>(step.tensors[i])] : Tensor();
  };
  const Operands operands{operand(0),      operand(1),      operand(2), step.numbers[0],
                          step.numbers[1], step.numbers[2], step.v};
  if (!step.row->in_place) slots_.emplace_back();  // stays undefined where the step throws
  const shunt::AutoGradMode grad(!step.no_grad);
  const Tensor result = step.row->run(operands);
  bool of_mine = false;
  for (const Tensor& t : {operands.a, operands.b, operands.c})
    of_mine |=
        world_.is_mine != nullptr && !step.row->in_place && !step.row->is_factory() && t.defined() && world_.is_mine(t);
  SHUNT_CHECK(!of_mine || world_.is_mine(result), step.row->code,
              " was not handled: its result is not of the world's own tensors");
  if (!step.row->in_place)
    slots_.back() = result;
  else
    SHUNT_CHECK(result.unsafeGetTensorImpl() == operands.a.unsafeGetTensorImpl(), step.row->code,
                " returned another tensor");
  if (!step.row->in_place || step.no_grad || !result.requires_grad()) return;
  // Asked at once: later the node of a view may be out of date, and asking would make another.
  for (auto& node : nodesOf({result})) changed_.push_back(std::move(node));
}

std::string Execution::differentiate(int root) {
  return errorOf([&] { slots_[static_cast<size_t>(root)].sum().backward(); });
}

void Execution::read(Outcome& out) const { readSlots(slots_, inputs_, world_, out); }

void readSlots(const std::vector<Tensor>& slots, size_t inputs, const World& world, Outcome& out) {
  std::vector<Tensor> plain;
  for (const Tensor& t : slots) plain.push_back(t.defined() ? world.leave(t) : t);
  for (const Tensor& t : plain) {
    SlotState& s = out.slots.emplace_back(stateOf(t, world.values));
    for (size_t i = 0; s.defined && s.alias < 0 && i < plain.size(); ++i)
      if (plain[i].defined() && plain[i].storage().get() == t.storage().get()) s.alias = static_cast<int>(i);
  }
  for (size_t i = 0; i < inputs; ++i) {
    const Tensor grad = slots[i].grad();
    out.grads.push_back(stateOf(grad.defined() ? world.leave(grad) : grad, world.values));
  }
}

Outcome run(const Program& program, const World& world) {
  Outcome out;
  Execution execution(program.inputs, world);
  {
    const std::shared_ptr<void> guards = world.guards();
    std::optional<shunt::AutocastGuard> autocast;
    if (program.autocast) autocast.emplace(shunt::kCPU);
    for (const Step& step : program.steps) out.errors.push_back(execution.take(step));
    autocast.reset();
    if (program.root >= 0) out.errors.push_back(execution.differentiate(program.root));
  }
  execution.read(out);
  return out;
}

std::string firstDifference(const Outcome& expected, const Outcome& got, Level level, bool* compared_whole) {
  if (compared_whole != nullptr) *compared_whole = true;
  for (size_t i = 0; i < expected.errors.size(); ++i) {
    const std::string &e = expected.errors[i], &g = got.errors[i];
    if (level == Level::kValues && partWays(e, g)) {
      if (compared_whole != nullptr) *compared_whole = false;
      return "";
    }
    // Of a view that can't be followed the first who asks says so, and where modes record that is a composite.
    if (isPlainOnly(e) && isPlainOnly(g)) continue;
    if (e != g && !(level == Level::kValues && !g.empty() && isPlainOnly(e)))
      return shunt::detail::str("step ", i, ": expected ", e.empty() ? "no error" : e, ", got ",
                                g.empty() ? "no error" : g);
  }
  for (size_t i = 0; i < expected.slots.size(); ++i)
    if (std::string d = slotDifference(expected.slots[i], got.slots[i], level); !d.empty())
      return shunt::detail::str("t", i, ": ", d);
  for (size_t i = 0; i < expected.grads.size(); ++i) {
    const SlotState &e = expected.grads[i], &g = got.grads[i];
    const SlotState rounded = level == Level::kValues ? roundedAs(e, g, expected) : g;
    if (std::string d = slotDifference(asCompared(e, level), asCompared(rounded, level), level); !d.empty())
      return shunt::detail::str("grad of t", i, ": ", d);
  }
  return "";
}

}  // namespace programs
