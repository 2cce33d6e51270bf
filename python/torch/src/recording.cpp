#include "recording.h"

#include "freed_graph.h"
#include "operator_check.h"
#include "values.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <ATen/CPUGeneratorImpl.h>
#include <algorithm>
#include <mutex>

namespace shunt_torch {
namespace {

// PyTorch's generator as it was, for a run that may end early.
class GeneratorState {
 public:
  explicit GeneratorState(bool is_kept) {
    if (!is_kept) return;
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard lock(generator.mutex());
    state_ = generator.get_state();
  }
  void putBack() const {
    if (!state_.defined()) return;
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state_);
  }

 private:
  at::Tensor state_;
};

}  // namespace

Recording::Recording(py::object arguments, py::object state, const py::list& captured, std::vector<int64_t> grad_of)
    : arguments_(std::move(arguments)),
      state_(std::move(state)),
      grad_of_(std::move(grad_of)),
      surroundings_(Surroundings::now()) {
  for (const py::handle& t : captured) captured_.push_back(py::reinterpret_borrow<py::object>(t));
}

int Recording::traverse(visitproc visit, void* arg) const {
  Py_VISIT(arguments_.object());
  Py_VISIT(state_.object());
  Py_VISIT(result_.object());
  for (const py::object& o : captured_) Py_VISIT(o.ptr());
  return 0;
}

void Recording::addFreedGraph(size_t output, std::string name, std::string message) {
  freed_.push_back({output, std::move(name), std::move(message)});
}

bool Recording::look(const std::vector<py::object>& inputs, bool history) {
  history_ = history;
  std::vector<at::Tensor> tensors;
  for (const py::object& o : inputs) {
    tensors_.emplace_back(o.ptr(), history);
    tensors.push_back(THPVariable_Unpack(o.ptr()));
  }
  sharing_ = SharingGuard(tensors);
  for (size_t i = 0; i < tensors.size(); ++i)
    storages_.push_back(
        std::find_if(tensors.begin(), tensors.end(), [&](const at::Tensor& t) { return t.is_alias_of(tensors[i]); }) -
        tensors.begin());
  return !sharing_.overlaps();
}

// Grads are fetched where they lie, since eager code makes a new one in each call. The objects of inputs are what a
// result can be; of a grad it is null.
bool Recording::gather(PyObject* args, PyObject* kwargs, std::vector<PyObject*>& objects,
                       std::vector<at::Tensor>& inputs) const {
  objects.reserve(tensors_.size());
  inputs.reserve(tensors_.size());
  if (!arguments_->match(args, kwargs, objects)) return false;
  if (history_ && std::any_of(objects.begin(), objects.end(), hasAttributes)) return false;
  for (size_t i = 0; i < captured_.size(); ++i) objects.push_back(grad_of_[i] < 0 ? captured_[i].ptr() : nullptr);
  const size_t arguments = objects.size() - captured_.size();
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] != nullptr) {
      inputs.push_back(THPVariable_Unpack(objects[i]));
      continue;
    }
    const at::Tensor& owner = inputs[static_cast<size_t>(grad_of_[i - arguments])];
    const at::Tensor& grad = owner.grad();
    if (!grad.defined()) return false;
    inputs.push_back(grad);
  }
  return true;
}

bool Recording::runProgram(const std::vector<at::Tensor>& inputs, std::vector<at::Tensor>& made,
                           std::vector<at::Tensor>* grads, std::vector<bool>* has_grad, bool plain,
                           size_t& step) const {
  struct Noted {  // also where a step throws
    const size_t& from;
    size_t& to;
    ~Noted() { to = from; }
  };
  if (plan_ != nullptr && !plain) {
    Plan::Run run{inputs, grads, has_grad};
    const Noted noted{run.step, step};
    const bool complete = plan_->run(run);
    made = std::move(run.outputs);
    return complete;
  }
  Program::Run run{inputs, grads, has_grad};
  const Noted noted{run.step, step};
  const py::gil_scoped_release no_gil;
  const bool complete = program_.run(run);
  for (const int64_t slot : program_.outputs()) made.push_back(run.slots[static_cast<size_t>(slot)]);
  return complete;
}

PyObject* Recording::call(PyObject* args, PyObject* kwargs) {
  const auto miss = [] { return Py_NewRef(missed()); };
  if (runs >= check_at || !(surroundings_ == Surroundings::now())) return miss();
  std::vector<PyObject*> objects;
  std::vector<at::Tensor> inputs;
  if (!gather(args, kwargs, objects, inputs) || state_->firstFailed() >= 0) return miss();
  for (size_t i = 0; i < objects.size(); ++i)
    if (objects[i] != nullptr && !tensors_[i].holds(objects[i])) return miss();
  if (!sharing_.holds(inputs)) return miss();
  // Versions of before, since tensors on one storage count theirs together.
  std::vector<uint32_t> versions(versions_.size());
  for (size_t i = 0; i < versions_.size(); ++i)
    if (versions_[i] != 0) versions[i] = inputs[i].unsafeGetTensorImpl()->version_counter().current_version();
  // Also where an operator throws: memory that was written must not look unwritten.
  const auto bump = [&](std::optional<size_t> failed) {
    for (size_t i = 0; i < versions_.size(); ++i) {
      if (versions_[i] == 0) continue;
      const int64_t grown =
          failed ? std::min(versions_[i], program_.writesBefore(*failed, storages_[i])) : versions_[i];
      while (inputs[i].unsafeGetTensorImpl()->version_counter().current_version() < versions[i] + grown)
        inputs[i].unsafeGetTensorImpl()->bump_version();
    }
  };
  std::vector<at::Tensor> made;
  bool complete = false;
  size_t step = 0;
  const GeneratorState drawn(program_.drawsWhileHarmless());
  struct Active {
    explicit Active(uint64_t& n) : n(n) { ++n; }
    ~Active() { --n; }
    uint64_t& n;
  } const is_active(active);
  try {
    complete = runProgram(inputs, made, nullptr, nullptr, by_program, step);
  } catch (...) {
    if (step < program_.harmlessSteps()) {  // the function throws the error itself, or handles it
      drawn.putBack();
      ++abandoned;
      return miss();
    }
    bump(step);
    throw;
  }
  if (!complete) {
    drawn.putBack();
    ++abandoned;
    return miss();
  }
  bump(std::nullopt);
  for (const Freed& f : freed_) setFreedGraph(made[f.output], f.name, f.message);
  ++runs;
  return result_->build(made, objects, inputs).release().ptr();
}

std::string Recording::difference(const py::tuple& args, const py::dict& kwargs, const py::function& describe_state) {
  if (std::string d = surroundings_.difference(Surroundings::now()); !d.empty()) return d;
  if (std::string d = arguments_->difference(args, kwargs); !d.empty()) return d;
  std::vector<PyObject*> objects;
  std::vector<at::Tensor> inputs;
  if (!gather(args.ptr(), kwargs.ptr(), objects, inputs)) return "a grad is None that was a tensor";
  if (const int64_t i = state_->firstFailed(); i >= 0) return describe_state(i).cast<std::string>();
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] == nullptr || tensors_[i].holds(objects[i])) continue;
    return "input " + std::to_string(i) + ": " + tensors_[i].difference(objects[i]);
  }
  if (!sharing_.holds(inputs)) return "other inputs share memory than when the call was recorded";
  return "";
}

py::object Recording::inputsOf(const py::tuple& args, const py::dict& kwargs) const {
  std::vector<PyObject*> objects;
  std::vector<at::Tensor> inputs;
  if (!(surroundings_ == Surroundings::now()) || !gather(args.ptr(), kwargs.ptr(), objects, inputs) ||
      state_->firstFailed() >= 0)
    return py::none();
  for (size_t i = 0; i < objects.size(); ++i)
    if (objects[i] != nullptr && !tensors_[i].holds(objects[i])) return py::none();
  if (!sharing_.holds(inputs)) return py::none();
  py::list out;
  for (const at::Tensor& t : inputs) out.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(t)));
  return out;
}

py::tuple Recording::replay(const std::vector<at::Tensor>& inputs, bool plain) const {
  std::vector<at::Tensor> grads(inputs.size()), made;
  std::vector<bool> has_grad(inputs.size(), false);
  size_t step = 0;
  bool complete = false;
  try {
    complete = runProgram(inputs, made, &grads, &has_grad, plain, step);
  } catch (...) {
    if (step >= program_.harmlessSteps()) throw;
  }
  py::dict by_input;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (has_grad[i])
      by_input[py::int_(i)] =
          grads[i].defined() ? py::reinterpret_steal<py::object>(THPVariable_Wrap(grads[i])) : py::none();
  py::list outputs;
  for (const at::Tensor& t : made) outputs.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(t)));
  return py::make_tuple(complete, outputs, by_input);
}

py::tuple Recording::times(const std::vector<at::Tensor>& inputs) const {
  TORCH_CHECK(plan_ != nullptr, "times: there is no plan");
  using Clock = std::chrono::steady_clock;
  constexpr int kReadings = 100;
  const auto clock_start = Clock::now();
  for (int i = 0; i < kReadings - 1; ++i) Clock::now();
  const std::chrono::duration<double, std::nano> reading = (Clock::now() - clock_start) / double{kReadings};
  std::vector<at::Tensor> grads(inputs.size());
  std::vector<bool> has_grad(inputs.size(), false);
  HostTime host;
  Plan::Run run{inputs, &grads, &has_grad};
  run.host_time = &host;
  const auto start = Clock::now();
  plan_->run(run);
  const std::chrono::duration<double, std::nano> whole = Clock::now() - start;
  const auto calls = static_cast<double>(host.calls);
  return py::make_tuple(whole.count() - 2 * calls * reading.count(),
                        static_cast<double>(host.sum.count()) - calls * reading.count());
}

std::string Recording::makePlan(const std::vector<at::Tensor>& inputs, Numerics numerics) {
  std::vector<at::Tensor> grads(inputs.size());
  std::vector<bool> has_grad(inputs.size(), false);
  Program::Run run{inputs, &grads, &has_grad};
  run.keep = true;
  {
    const py::gil_scoped_release no_gil;
    if (!program_.run(run)) return "a value that was read is another one";
  }
  std::string why;
  numerics_ = numerics;
  plan_ = Plan::make(program_, run.slots, numerics, why);
  return why;
}

std::string Recording::checkOperators(const std::vector<at::Tensor>& inputs) const {
  TORCH_CHECK(plan_ != nullptr, "there is no plan to check");
  const py::gil_scoped_release no_gil;
  return shunt_torch::checkOperators(program_, plan_->shapes(), inputs, numerics_);
}

}  // namespace shunt_torch
