// The extension shunt_torch._C.
#include "calls.h"
#include "operator_hook.h"
#include "recording.h"
#include "self_test.h"
#include "tensors.h"
#include "training_call.h"
#include "traversal.h"
#include "values.h"

#include <shunt/core/environment.h>
#include <shunt/version.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using namespace shunt_torch;
  m.doc() = "Recordings of calls of PyTorch, and their replay. Internal to shunt_torch.";
  m.def("runtime_version", [] { return SHUNT_VERSION; }, "The version of Shunt that it was compiled against.");
  namespace environment = shunt::detail::environment;
  m.def(
      "is_switched_on",
      [] {
        static const bool on = environment::flag<environment::Variable::kTorch>();
        return on;
      },
      "SHUNT_TORCH, as the first call found it.");
  m.def(
      "default_check", [] { return environment::read(environment::Variable::kTorchCheck).text; }, "SHUNT_TORCH_CHECK.");
  m.def("self_test", &selfTest, "The number of pairs that Shunt has compiled; -1 where it computes wrongly.");
  m.attr("MISSED") = py::reinterpret_borrow<py::object>(missed());
  addCalls(m);
  m.def("same_value", [](py::object a, py::object b) { return isSameValue(a.ptr(), b.ptr()); });
  m.def("is_value", [](py::object o) { return isValue(o.ptr()); });
  m.def("has_plain_hash", [](py::object o) { return hasPlainHash(o.ptr()); });
  m.def("key_of", &keyOf);
  m.def("copy_inputs", &copyInputs);
  m.def("same_storage_bytes", &sameStorageBytes);
  m.def("same_bits", &sameBits);
  m.def("hooks_of", &hooksOf);
  m.def("has_tangent", &hasTangent);
  m.def(
      "grad_of", [](const at::Tensor& t) { return t.unsafeGetTensorImpl()->grad(); },
      "A tensor's grad, without the warning about those of tensors that are no leaves.");
  m.def("has_attributes", [](const py::object& o) { return hasAttributes(o.ptr()); });
  m.def("surroundings_refusal", [] { return Surroundings::now().refusal(); });
  py::class_<StorageHandle>(m, "Storage")
      .def(py::init([](const at::Tensor& t) { return StorageHandle{t.storage()}; }))
      .def_property_readonly(
          "address",
          [](const StorageHandle& s) { return reinterpret_cast<uintptr_t>(s.storage.unsafeGetStorageImpl()); })
      .def_property_readonly("uses", &StorageHandle::uses);
  registerOperatorHook();
  py::class_<OperatorHook>(m, "OperatorHook")
      .def(py::init<py::object>())
      .def("enter", &OperatorHook::enter)
      .def("exit", &OperatorHook::exit);
  py::class_<GradWatch>(m, "GradWatch").def(py::init<std::vector<at::Tensor>>()).def("changes", &GradWatch::changes);
  py::class_<Slot>(m, "Slot").def(py::init<int64_t>()).def_readonly("index", &Slot::index);
  py::class_<Arguments>(m, "Arguments", isTraversed<Arguments>())
      .def(py::init<const py::tuple&, const py::dict&, const py::function&>())
      .def_property_readonly("tensors", &Arguments::tensors)
      .def_property_readonly("objects", &Arguments::objects)
      .def("forget_tensors", &Arguments::forgetTensors)
      .def("difference", &Arguments::difference);
  py::class_<Result>(m, "Result", isTraversed<Result>()).def(py::init<const py::object&>());
  py::class_<StateGuards>(m, "StateGuards", isTraversed<StateGuards>())
      .def(py::init<const py::list&, py::object>())
      .def("first_failed", &StateGuards::firstFailed)
      .def("__len__", &StateGuards::size);
  m.def("unannotated_writes", &unannotatedWrites);
  py::class_<Program>(m, "Program")
      .def("add_input", &Program::addInput)
      .def("call", &Program::call)
      .def("expect", &Program::expect)
      .def("touch", &Program::touch)
      .def("draw", &Program::draw)
      .def_property_readonly("draws", &Program::draws)
      .def_property_readonly("draws_while_harmless", &Program::drawsWhileHarmless)
      .def("wrote", &Program::wrote)
      .def("assign_grad", &Program::assignGrad)
      .def("add_output", &Program::addOutput)
      .def("finish", &Program::finish)
      .def("describe", &Program::describe)
      .def("__len__", &Program::steps);
  addTrainingCall(m);
  py::class_<Recording, std::shared_ptr<Recording>>(m, "Recording", isTraversed<Recording>())
      .def(py::init<py::object, py::object, const py::list&, std::vector<int64_t>>())
      .def_property_readonly("program", &Recording::program, py::return_value_policy::reference_internal)
      .def("set_versions", &Recording::setVersions)
      .def("set_result", &Recording::setResult)
      .def("add_freed_graph", &Recording::addFreedGraph)
      .def("look", &Recording::look)
      .def("changed_surroundings", &Recording::changedSurroundings)
      .def("allow_offset", &Recording::allowOffset)
      .def("need_storage", &Recording::needStorage)
      .def("difference", &Recording::difference)
      .def("inputs_of", &Recording::inputsOf)
      .def("replay", &Recording::replay, py::arg("inputs"), py::arg("plain") = false)
      .def("times", &Recording::times)
      .def("make_plan", [](Recording& r, const std::vector<at::Tensor>& inputs,
                           bool fast) { return r.makePlan(inputs, fast ? Numerics::kFast : Numerics::kExact); })
      .def("check_operators", &Recording::checkOperators)
      .def("drop_plan", &Recording::dropPlan)
      .def_property_readonly("has_plan", &Recording::hasPlan)
      .def("describe", &Recording::describe)
      .def("groups", &Recording::groups)
      .def_readwrite("by_program", &Recording::by_program)
      .def_readwrite("runs", &Recording::runs)
      .def_readwrite("check_at", &Recording::check_at)
      .def_readonly("active", &Recording::active)
      .def_readonly("abandoned", &Recording::abandoned);
}
