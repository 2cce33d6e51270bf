// Definitions, kernels, handles and boxed calls.
#include "tests/errors/bed.h"

namespace shunt::testing {
namespace {

Library fragment() { return Library(Library::Kind::kFragment, "errs"); }
Library impl(DispatchKey key) { return Library(Library::Kind::kImpl, "errs", key); }
void def(const char* schema) { fragment().def(schema); }
OperatorHandle op(const char* name, const char* overload = "") {
  return Dispatcher::singleton().findSchemaOrThrow(name, overload);
}
Tensor identity(const Tensor& x) { return x; }

void callBoxed(const char* name, std::vector<IValue> arguments, const char* overload = "") {
  Stack stack = std::move(arguments);
  op(name, overload).callBoxed(&stack);
}

void callReturnsInt(Bed& bed) { op("errs::returns_int").typed<int64_t(const Tensor&)>().call(bed.a); }

/// Registers a boxed kernel of errs::returns_int.
template <class F>
void returnsInt(Bed& bed, F kernel) {
  bed.kernels.impl("returns_int", CppFunction::makeFromBoxed(kernel));
}

}  // namespace

static std::vector<BadInput> schemaTextCases() {
  return {
      {"schema: empty", {"an operator's name", "the end of the text"}, [](Bed&) { def(""); }},
      {"schema: no closing parenthesis",
       {"f(Tensor a", "^", "',' or ')' after the argument"},
       [](Bed&) { def("f(Tensor a -> Tensor"); }},
      {"schema: unknown type",
       {"f(Tensr a)", "^", "a type (one of Tensor, Scalar", "'Tensr'"},
       [](Bed&) { def("f(Tensr a) -> Tensor"); }},
      {"schema: repeated argument",
       {"a name that is not used before", "'a'"},
       [](Bed&) { def("f(Tensor a, int a) -> Tensor"); }},
      {"schema: no arrow", {"'->'"}, [](Bed&) { def("f(Tensor a) Tensor"); }},
      {"schema: default of the wrong type", {"int", "'True'"}, [](Bed&) { def("f(int a=True) -> ()"); }},
      {"schema: default out of range",
       {"99999999999999999999"},
       [](Bed&) { def("f(int a=99999999999999999999) -> ()"); }},
      {"schema: missing default", {"a default value for 'b'"}, [](Bed&) { def("f(int a=1, int b) -> ()"); }},
      {"schema: alias without end", {"')' after the alias annotation"}, [](Bed&) { def("f(Tensor(a! x) -> Tensor"); }},
      {"schema: text after the end", {"';'"}, [](Bed&) { def("f(Tensor a) -> Tensor;"); }},
      {"schema: keyword-only without argument", {"a keyword-only argument after '*'"}, [](Bed&) { def("f(*) -> ()"); }},
      {"schema: not a name", {"'1'"}, [](Bed&) { def("1f(Tensor a) -> Tensor"); }},
      {"impl: not a name", {"'('"}, [](Bed&) { impl(DispatchKey::CPU).impl("on_cpu(Tensor x)", &identity); }},
  };
}

static std::vector<BadInput> registrationCases() {
  return {
      {"def: syntax", {"'->'", "\n  in def() at registry_cases.cpp:"}, [](Bed&) { def("f(Tensor x)"); }},
      {"def: syntax, with a kernel",
       {"'->'", "\n  in def() at registry_cases.cpp:"},
       [](Bed&) { fragment().def("f(Tensor x)", &identity); }},
      {"impl: syntax",
       {"'('", "\n  in impl() at registry_cases.cpp:"},
       [](Bed&) { impl(DispatchKey::CPU).impl("f(Tensor x)", &identity); }},
      {"library: without a name",
       {"a Library needs a namespace, and its name is empty (registry_cases.cpp:"},
       [](Bed&) { Library(Library::Kind::kFragment, ""); }},
      {"def: moved from",
       {"def(f): this Library (registry_cases.cpp:", ") was moved from: call the one that it was moved to"},
       [](Bed&) {
         Library first = fragment();
         const Library second = std::move(first);
         first.def("f(Tensor x) -> Tensor");
       }},
      {"impl: moved from",
       {"impl(on_cpu): this Library (", ") was moved from"},
       [](Bed&) {
         Library first = fragment();
         const Library second = std::move(first);
         first.impl("on_cpu", DispatchKey::Meta, &identity);
       }},
      {"fallback: moved from",
       {"fallback: this Library (registry_cases.cpp:", ") was moved from"},
       [](Bed&) {
         Library first(Library::Kind::kImpl, "_", DispatchKey::Meta);
         const Library second = std::move(first);
         first.fallback(CppFunction::makeFallthrough());
       }},
      {"def: twice",
       {"errs::on_cpu", "twice", "first defined at bed.cpp", "now at", "another overload name"},
       [](Bed&) { def("on_cpu(Tensor x) -> Tensor"); }},
      {"def: twice, of the dictionary",
       {"aten::add.Tensor", "twice", "registry_cases.cpp"},
       [](Bed&) { Library(Library::Kind::kFragment, "aten").def("add.Tensor(Tensor x) -> Tensor"); }},
      {"def: another namespace",
       {"other::f", "does not match the block's namespace errs"},
       [](Bed&) { def("other::f(Tensor x) -> Tensor"); }},
      {"def: in an impl block",
       {"g(Tensor x)", "SHUNT_LIBRARY"},
       [](Bed&) { impl(DispatchKey::CPU).def("g(Tensor x) -> Tensor"); }},
      {"def: in the wildcard namespace",
       {"_", "need a namespace"},
       [](Bed&) { Library(Library::Kind::kFragment, "_"); }},
      {"def: kernel that does not fit",
       {"errs::g", "registry_cases.cpp"},
       [](Bed&) { fragment().def("g(Tensor x, int n) -> Tensor", &identity); }},
      {"def: schema for a kernel that has another",
       {"errs::undefined_op", "does not fit", "bed.cpp", "registry_cases.cpp"},
       [](Bed&) { def("undefined_op(Tensor x) -> Tensor"); }},
      {"def: nothing to infer from",
       {"cannot be inferred", "in full"},
       [](Bed&) { fragment().def("g", CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {})); }},
      {"library: namespace taken",
       {"Only a single TORCH_LIBRARY", "errs_taken", "SHUNT_LIBRARY_FRAGMENT"},
       [](Bed&) {
         Library first(Library::Kind::kDef, "errs_taken");
         Library second(Library::Kind::kDef, "errs_taken");
       }},
      {"impl: argument missing",
       {"errs::on_cpu", "first:", "now:", "bed.cpp", "registry_cases.cpp"},
       [](Bed&) { impl(DispatchKey::Meta).impl("on_cpu", &identity); }},
      {"impl: argument of the wrong type",
       {"errs::on_cpu", "first: shunt::Tensor (shunt::Tensor const&, long)",
        "now:   shunt::Tensor (shunt::Tensor const&, double)"},
       [](Bed&) { impl(DispatchKey::Meta).impl("on_cpu", [](const Tensor& x, double) { return x; }); }},
      {"impl: return of the wrong type",
       {"errs::no_kernel", "registry_cases.cpp"},
       [](Bed&) { impl(DispatchKey::CPU).impl("no_kernel", [](const Tensor&) -> int64_t { return 0; }); }},
      {"impl: another key than the block's",
       {"no_kernel", "Meta", "the block is for CPU"},
       [](Bed&) { impl(DispatchKey::CPU).impl("no_kernel", DispatchKey::Meta, &identity); }},
      {"impl: not a key",
       {"errs::no_kernel", "not a dispatch key that kernels can be registered for"},
       [](Bed&) { fragment().impl("no_kernel", dispatch(static_cast<DispatchKey>(250), &identity)); }},
      {"impl: another namespace",
       {"aten::add", "does not match the block's namespace errs"},
       [](Bed&) { impl(DispatchKey::CPU).impl("aten::add", &identity); }},
      {"impl: wildcard without namespace",
       {"no_kernel", "has to be given"},
       [](Bed&) { Library(Library::Kind::kImpl, "_", DispatchKey::CPU).impl("no_kernel", &identity); }},
      {"fallback: unboxed",
       {"Meta", "boxed", "registry_cases.cpp"},
       [](Bed&) { Library(Library::Kind::kImpl, "_", DispatchKey::Meta).fallback(&identity); }},
      {"fallback: alias key",
       {"Autograd", "run-time key"},
       [](Bed&) {
         Library(Library::Kind::kImpl, "_", DispatchKey::Autograd).fallback(CppFunction::makeFallthrough());
       }},
      {"fallback: taken",
       {"Batched", "fallback.cpp", "registry_cases.cpp"},
       [](Bed&) {
         Library(Library::Kind::kImpl, "_", DispatchKey::Batched)
             .fallback(CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {}));
       }},
      {"fallback: one namespace",
       {"errs", "SHUNT_LIBRARY_IMPL(_"},
       [](Bed&) { impl(DispatchKey::Meta).fallback(CppFunction::makeFallthrough()); }},
      {"fallback: no key",
       {"fallback", "key"},
       [](Bed&) { Library(Library::Kind::kImpl, "_").fallback(CppFunction::makeFallthrough()); }},
  };
}

static std::vector<BadInput> callCases() {
  return {
      {"find: no such operator", {"errs::nothing", "no such operator"}, [](Bed&) { op("errs::nothing"); }},
      {"find: no such overload", {"aten::add.Tensr", "aten::add.Tensor"}, [](Bed&) { op("aten::add", "Tensr"); }},
      {"find: kernels without definition",
       {"errs::undefined_op", "kernels but no definition"},
       [](Bed&) { op("errs::undefined_op"); }},
      {"call: no kernel",
       {"errs::no_kernel", "CPU", "SHUNT_LIBRARY_IMPL"},
       [](Bed& bed) { op("errs::no_kernel").typed<Tensor(const Tensor&)>().call(bed.a); }},
      {"call: kernel of another backend",
       {"errs::on_cpu", "Meta", "It has kernels for: CPU."},
       [](Bed& bed) { op("errs::on_cpu").typed<Tensor(const Tensor&, int64_t)>().call(bed.meta, 1); }},
      {"call: no tensor to choose a backend",
       {"errs::no_tensor", "No key was left", "no tensor arguments", "CompositeExplicitAutograd"},
       [](Bed&) { op("errs::no_tensor").typed<Tensor(int64_t)>().call(1); }},
      {"call: the tensor's keys are excluded",
       {"errs::on_cpu", "No key was left", "excluded on this thread"},
       [](Bed& bed) {
         const ExcludeDispatchKeyGuard no_cpu(DispatchKey::CPU);
         op("errs::on_cpu").typed<Tensor(const Tensor&, int64_t)>().call(bed.a, 1);
       }},
      {"redispatch: without keys",
       {"errs::on_cpu", "No key was left", "taken away by a redispatch"},
       [](Bed& bed) {
         op("errs::on_cpu").typed<Tensor(const Tensor&, int64_t)>().redispatch(DispatchKeySet(), bed.a, 1);
       }},
      {"call: undefined tensor",
       {"errs::on_cpu", "undefined"},
       [](Bed& bed) { op("errs::on_cpu").typed<Tensor(const Tensor&, int64_t)>().call(bed.undefined, 1); }},
      {"typed: argument missing",
       {"errs::on_cpu", "typed<>()", "asked:", "known:", "bed.cpp"},
       [](Bed&) { op("errs::on_cpu").typed<Tensor(const Tensor&)>(); }},
      {"typed: return of the wrong type",
       {"errs::on_cpu", "typed<>()", "asked:"},
       [](Bed&) { op("errs::on_cpu").typed<double(const Tensor&, int64_t)>(); }},
      {"typed: against the schema alone",
       {"errs::no_kernel", "typed<>() was asked", "1 arguments", "asked:", "defined at bed.cpp"},
       [](Bed&) { op("errs::no_kernel").typed<Tensor(const Tensor&, double)>(); }},
      {"typed: of the dictionary",
       {"aten::add.Tensor", "asked:"},
       [](Bed&) { op("aten::add", "Tensor").typed<Tensor(const Tensor&, const Tensor&)>(); }},
      {"boxed: too few arguments",
       {"errs::on_cpu", "needs 2 arguments", "got 1"},
       [](Bed& bed) { callBoxed("errs::on_cpu", {bed.a}); }},
      {"boxed: no arguments",
       {"aten::add.Tensor", "needs 3 arguments", "got 0"},
       [](Bed&) { callBoxed("aten::add", {}, "Tensor"); }},
      {"boxed: a number for a tensor",
       {"errs::on_cpu", "x", "expected Tensor", "got int"},
       [](Bed&) { callBoxed("errs::on_cpu", {3, 1}); }},
      {"boxed: a string for an int",
       {"errs::on_cpu", "n", "expected int", "got str"},
       [](Bed& bed) { callBoxed("errs::on_cpu", {bed.a, "one"}); }},
      {"boxed: None for a tensor",
       {"errs::on_cpu", "x", "expected Tensor", "got None"},
       [](Bed&) { callBoxed("errs::on_cpu", {IValue(), 1}); }},
      {"boxed: a tensor for a list",
       {"aten::cat", "tensors", "expected Tensor[]", "got Tensor"},
       [](Bed& bed) { callBoxed("aten::cat", {bed.a, 0}); }},
      {"boxed: a string for a dtype",
       {"aten::softmax.int", "'dtype'", "expected ScalarType?", "got str"},
       [](Bed& bed) { callBoxed("aten::softmax", {bed.a, 0, "float"}, "int"); }},
      {"boxed kernel: nothing returned",
       {"errs::returns_int", "expected 1", "got 0"},
       &callReturnsInt,
       [](Bed& bed) { returnsInt(bed, [](const OperatorHandle&, Stack* stack) { stack->clear(); }); }},
      {"boxed kernel: another type returned",
       {"errs::returns_int", "expected int", "got Tensor"},
       &callReturnsInt,
       [](Bed& bed) { returnsInt(bed, [](const OperatorHandle&, Stack*) {}); }},
      {"schema: of an operator without one",
       {"errs::undefined_op", "no definition"},
       [](Bed&) { Dispatcher::singleton().findOp(OperatorName("errs::undefined_op", ""))->schema(); }},
  };
}

std::vector<BadInput> registryCases() {
  std::vector<BadInput> rows = schemaTextCases();
  for (auto* table : {&registrationCases, &callCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
