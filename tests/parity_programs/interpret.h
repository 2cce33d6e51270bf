// Runs programs on one library: included by run_shunt.cpp and run_torch.cpp after `namespace library` and struct Api,
// inside namespace parity_programs. The interfaces have the same shape, so that one text serves both.

namespace {

using namespace library;

struct Row {
  RowInfo info;
  Tensor (*run)(Tensor& a, Tensor& b, int64_t i, double v);
};
#define ROW(...)                                                                    \
  Row {                                                                             \
    {#__VA_ARGS__, true}, [](Tensor& a, Tensor& b, int64_t i, double v) -> Tensor { \
      (void)a, (void)b, (void)i, (void)v;                                           \
      return __VA_ARGS__;                                                           \
    }                                                                               \
  }
#define ACT(...)                                                                     \
  Row {                                                                              \
    {#__VA_ARGS__, false}, [](Tensor& a, Tensor& b, int64_t i, double v) -> Tensor { \
      (void)a, (void)b, (void)i, (void)v;                                            \
      __VA_ARGS__;                                                                   \
      return Tensor();                                                               \
    }                                                                                \
  }
#include "tests/parity_programs/rows.h"
#undef ROW
#undef ACT

Tensor makeInput(const Input& in) {
  int64_t n = 1;
  for (const int64_t s : in.sizes) n *= s;
  parity::Rng rng(in.seed);
  std::vector<double> values;
  for (int64_t k = 0; k < n; ++k) values.push_back(static_cast<double>(rng.range(-8, 8)) / 4);
  const Tensor t = Api::tensorOf(values).reshape(in.sizes).to(static_cast<ScalarType>(in.dtype)).clone();
  return in.requires_grad ? t.set_requires_grad(true) : t;
}

std::string listText(const std::vector<int64_t>& v) {
  std::string out = "[";
  for (const int64_t x : v) out += (out.size() > 1 ? ", " : "") + std::to_string(x);
  return out + "]";
}

// By strides, so that no call of the library stands between.
void readValues(const Tensor& t, Slot& s) {
  const std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  std::vector<int64_t> index(sizes.size(), 0);
  s.sizes = sizes;
  s.strides.assign(t.strides().begin(), t.strides().end());
  const auto item = static_cast<int64_t>(t.element_size());
  const auto* data = static_cast<const uint8_t*>(t.data_ptr());
  for (int64_t k = 0; k < t.numel(); ++k) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
    s.values.push_back(parity::loadElement(s.dtype, data + offset * item));
    const auto at = reinterpret_cast<uintptr_t>(data + offset * item);
    s.begin = k == 0 ? at : std::min(s.begin, at);
    s.end = std::max(s.end, at + static_cast<uintptr_t>(item));
    for (size_t d = index.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
}

template <class F>
std::string errorOf(F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return *e.what() != 0 ? e.what() : "an error without a message";
  }
  return "";
}

// Of a custom function's node "Scaled>".
std::string withoutNamespace(const std::string& name) {
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

// 0 of one without a counter: set_data makes such tensors that is_inference() doesn't name.
int64_t versionOf(const Tensor& t) {
  int64_t version = 0;
  if (t.defined() && !t.is_inference()) errorOf([&] { version = static_cast<int64_t>(Api::version(t)); });
  return version;
}

// `raised`: the version, which a new tensor has of what made it, is not what it was at first.
Slot slotOf(const Tensor& t, bool raised) {
  Slot s;
  s.defined = t.defined();
  if (!s.defined) return s;
  s.dtype = static_cast<int>(t.scalar_type());
  s.facts = "sizes " + listText({t.sizes().begin(), t.sizes().end()}) + " strides ";
  std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
  for (size_t d = 0; d < strides.size(); ++d)
    if (t.sizes()[d] < 2 || t.numel() == 0) strides[d] = 0;  // addresses nothing
  s.facts += listText(strides) + " offset " + std::to_string(t.numel() == 0 ? 0 : t.storage_offset());
  std::string history = " whose history throws";
  errorOf([&] { history = std::string(t.requires_grad() ? " requires_grad" : "") + (t.is_leaf() ? " leaf" : ""); });
  s.facts += history + (t.is_view() ? " view" : "");
  s.facts += t.is_inference() ? " inference" : raised ? " changed" : "";
  const std::string error = errorOf([&] { s.grad_fn = withoutNamespace(Api::gradFnName(t)); });
  if (!error.empty()) s.grad_fn = "throws";
  readValues(t, s);
  return s;
}

const RowInfo& infoOf(const Step& step) { return rows()[static_cast<size_t>(step.row)].info; }

void runStep(const Step& step, Tensor& a, Tensor& b, Tensor& result) {
  const Api::GradGuard grad(!step.no_grad);
  std::optional<Api::Autocast> autocast;
  if (step.autocast) autocast.emplace();
  std::optional<InferenceMode> inference;
  if (step.inference) inference.emplace(true);
  result = rows()[static_cast<size_t>(step.row)].run(a, b, step.i, step.v);
}

std::vector<RowInfo> allInfos() {
  std::vector<RowInfo> all;
  for (const Row& row : rows()) all.push_back(row.info);
  return all;
}

Outcome runProgram(const Program& program) {
  Outcome out;
  std::vector<Tensor> slots;
  std::vector<int64_t> versions;
  for (const Input& in : program.inputs) versions.push_back(versionOf(slots.emplace_back(makeInput(in))));
  for (const Step& step : program.steps) {
    Tensor a = slots[static_cast<size_t>(step.a)], b = slots[static_cast<size_t>(step.b)], result;
    // What failed leaves nothing to go on with.
    const bool runs = step.row >= 0 && (a.defined() || !infoOf(step).uses_a) && (b.defined() || !infoOf(step).uses_b);
    // What is wrong with the tensor is the step's to say; why anything is done before it, run_torch.cpp's.
    if (runs) errorOf([&] { Api::beforeStep(infoOf(step), a); });
    out.errors.push_back(runs ? errorOf([&] { runStep(step, a, b, result); }) : "");
    versions.push_back(versionOf(slots.emplace_back(out.errors.back().empty() ? result : Tensor())));
  }
  for (size_t k = 0; k < slots.size(); ++k) out.slots.push_back(slotOf(slots[k], versionOf(slots[k]) != versions[k]));
  for (const Tensor& t : slots) {
    Slot grad;
    if (t.defined()) errorOf([&] { grad = slotOf(t.grad(), false); });
    out.grads.push_back(grad);
  }
  return out;
}

}  // namespace
