// What comes from outside as data: boxed values, calls to be explained, schemas, DLPack structs, generators, reports.
#include "tests/errors/bed.h"

#include <shunt/jit/cache.h>
#include <shunt/jit/explain.h>

namespace shunt::testing {
namespace {

OperatorHandle op(const char* name, const char* overload = "") {
  return Dispatcher::singleton().findSchemaOrThrow(name, overload);
}
void callBoxed(const char* name, const char* overload, std::vector<IValue> arguments) {
  Stack stack = std::move(arguments);
  op(name, overload).callBoxed(&stack);
}
void def(const char* schema) { Library(Library::Kind::kFragment, "errs").def(schema); }

}  // namespace

static std::vector<BadInput> boxedValueCases() {
  return {
      {"boxed: a float for an int",
       {"aten::select.int", "'dim'", "expected int", "got float"},
       [](Bed& bed) { callBoxed("aten::select", "int", {bed.a, 0.5, 0}); }},
      {"boxed: an int for a bool",
       {"aten::sum.dim_IntList", "'keepdim'", "expected bool", "got int"},
       [](Bed& bed) { callBoxed("aten::sum", "dim_IntList", {bed.a, std::vector<int64_t>{0}, 1, IValue()}); }},
      {"boxed: ints for tensors",
       {"aten::cat", "'tensors'", "expected Tensor[]"},
       [](Bed&) { callBoxed("aten::cat", "", {std::vector<int64_t>{1, 2}, 0}); }},
      {"boxed: a tensor for a number",
       {"aten::add.Scalar", "'other'", "expected Scalar", "got Tensor"},
       [](Bed& bed) { callBoxed("aten::add", "Scalar", {bed.a, bed.a, 1}); }},
      {"boxed: None for a number",
       {"aten::add.Scalar", "'other'", "got None"},
       [](Bed& bed) { callBoxed("aten::add", "Scalar", {bed.a, IValue(), 1}); }},
      {"boxed: an int for a string",
       {"aten::gelu", "'approximate'", "expected str", "got int"},
       [](Bed& bed) { callBoxed("aten::gelu", "", {bed.a, 1}); }},
      {"boxed: a string for a device",
       {"aten::zeros", "'device'", "expected Device?", "got str"},
       [](Bed&) { callBoxed("aten::zeros", "", {std::vector<int64_t>{2}, IValue(), IValue(), "cpu", IValue()}); }},
      {"boxed: an undefined tensor",
       {"aten::relu", "undefined"},
       [](Bed& bed) { callBoxed("aten::relu", "", {bed.undefined}); }},
      {"boxed: an unknown approximation",
       {"gelu", "approximate"},
       [](Bed& bed) { callBoxed("aten::gelu", "", {bed.a, "fast"}); }},
      {"boxed: a value that is no tensor", {"Tensor", "int"}, [](Bed&) { IValue(3).toTensor(); }},
      {"boxed: a value that is no list", {"int[]", "float"}, [](Bed&) { IValue(0.5).toIntVector(); }},
      {"boxed: redispatched without keys",
       {"errs::on_cpu", "taken away by a redispatch"},
       [](Bed& bed) {
         Stack stack{bed.a, 1};
         op("errs::on_cpu").redispatchBoxed(DispatchKeySet(), &stack);
       }},
  };
}

static std::vector<BadInput> explainCases() {
  return {
      {"explain: no such operator",
       {"errs::nothing", "no such operator"},
       [](Bed& bed) { jit::explain("errs::nothing", bed.a); }},
      {"explain: an overload is missing",
       {"aten::add", "aten::add.Tensor"},
       [](Bed& bed) { jit::explain("aten::add", bed.a, bed.a); }},
      {"explain: not a name", {"a b"}, [](Bed& bed) { jit::explain("a b", bed.a); }},
      {"explain: an argument is missing",
       {"explain: argument 'other' of aten::add.Tensor is missing", "Tensor other"},
       [](Bed& bed) { jit::explain("aten::add.Tensor", bed.a); }},
      {"explain: too many arguments",
       {"explain: aten::relu has 1 arguments, got 2"},
       [](Bed& bed) { jit::explain("aten::relu", bed.a, 2); }},
      {"explain: of another type",
       {"aten::relu", "'self'", "expected Tensor", "got float"},
       [](Bed&) { jit::explain("aten::relu", 0.5); }},
      {"explain: an unknown name",
       {"has no argument 'beta'", "Scalar alpha"},
       [](Bed& bed) { jit::explain(op("aten::add", "Tensor"), {bed.a, bed.a}, {{"beta", IValue(1)}}); }},
      {"explain: a name twice",
       {"argument 'self'", "given twice"},
       [](Bed& bed) { jit::explain(op("aten::relu"), {bed.a}, {{"self", IValue(bed.a)}}); }},
      {"explain: kernels without a definition",
       {"errs::undefined_op", "no definition"},
       [](Bed& bed) {
         jit::explain(*Dispatcher::singleton().findOp(OperatorName("errs::undefined_op", "")), {bed.a});
       }},
      {"report: not one", {"not a report of jit::stats"}, [](Bed&) { jit::statsFromJson("[1]"); }},
      {"report: of another version", {"another version"}, [](Bed&) { jit::statsFromJson(R"({"version": 99})"); }},
      {"cache: a relative path",
       {"set_cache_directory", "absolute path", "'here'"},
       [](Bed&) { jit::set_cache_directory("here"); }},
  };
}

static std::vector<BadInput> schemaCases() {
  return {
      {"schema: a dictionary by devices",
       {"a key of type str", "'Device'", "^"},
       [](Bed&) { def("f(Dict(Device, int) a) -> ()"); }},
      {"schema: a list of too many", {"list size", "'1025'"}, [](Bed&) { def("f(int[1025] a) -> ()"); }},
      {"schema: an optional of an optional", {"'?'"}, [](Bed&) { def("f(Tensor?? a) -> ()"); }},
      {"schema: annotation behind the question mark",
       {"before the '?'", "Tensor(a)?"},
       [](Bed&) { def("f(Tensor?(a!) x) -> ()"); }},
      {"schema: two stars", {"'*'"}, [](Bed&) { def("f(Tensor a, *, *, int b) -> ()"); }},
      {"schema: a name that begins with a digit",
       {"expected a name", "found '1'"},
       [](Bed&) { def("f(Tensor 1a) -> ()"); }},
      {"schema: a string that doesn't end", {"f(str a="}, [](Bed&) { def("f(str a=\"open) -> ()"); }},
      {"schema: a string for a number", {"default value of type float"}, [](Bed&) { def("f(float a=\"1\") -> ()"); }},
      {"schema: None for an int", {"default value of type int", "None"}, [](Bed&) { def("f(int a=None) -> ()"); }},
      {"schema: a number for a list", {"a list in [ ]"}, [](Bed&) { def("f(int[] a=1) -> ()"); }},
      {"schema: an overload called default", {"default"}, [](Bed&) { def("f.default(Tensor a) -> Tensor"); }},
      {"schema: nothing returned", {"'->'", "f(Tensor a)"}, [](Bed&) { def("f(Tensor a)"); }},
      {"schema: is_mutable of no argument", {"zz"}, [](Bed&) { op("aten::add", "Tensor").schema().is_mutable("zz"); }},
  };
}

static std::vector<BadInput> dlpackCases() {
  // Broken before the state is noted, so that the struct is what it was.
  const auto broken = [](void (*break_it)(dlpack::DLTensor&)) {
    return [break_it](Bed& bed) { break_it(bed.foreign.managed.dl_tensor); };
  };
  const auto import = [](Bed& bed) { fromDLPack(&bed.foreign.managed); };
  return {
      {"dlpack: vectors", {"fromDLPack", "4 lanes", "expected 1"}, import, broken([](dlpack::DLTensor& t) {
         t.dtype.lanes = 4;
       })},
      {"dlpack: complex", {"fromDLPack", "complex"}, import, broken([](dlpack::DLTensor& t) {
         t.dtype = {dlpack::kDLComplex, 64, 1};
       })},
      {"dlpack: an unknown type", {"fromDLPack: unsupported dtype", "24 bits"}, import, broken([](dlpack::DLTensor& t) {
         t.dtype = {dlpack::kDLFloat, 24, 1};
       })},
      {"dlpack: an opaque handle", {"fromDLPack: unsupported dtype", "code 3"}, import, broken([](dlpack::DLTensor& t) {
         t.dtype = {dlpack::kDLOpaqueHandle, 64, 1};
       })},
      {"dlpack: another device", {"fromDLPack: unsupported device type 2"}, import, broken([](dlpack::DLTensor& t) {
         t.device = {dlpack::kDLCUDA, 0};
       })},
      {"dlpack: negative dimensions",
       {"fromDLPack: the number of dimensions", "-1"},
       import,
       broken([](dlpack::DLTensor& t) { t.ndim = -1; })},
      {"dlpack: too many dimensions",
       {"fromDLPack: the number of dimensions", "100000"},
       import,
       broken([](dlpack::DLTensor& t) { t.ndim = 100000; })},
      {"dlpack: no shape", {"fromDLPack", "2 dimensions has no shape"}, import, broken([](dlpack::DLTensor& t) {
         t.shape = nullptr;
       })},
      {"dlpack: a negative size", {"fromDLPack: negative dimension -2"}, import, broken([](dlpack::DLTensor& t) {
         t.shape[0] = -2;
       })},
      {"dlpack: a negative stride", {"fromDLPack: negative strides"}, import, broken([](dlpack::DLTensor& t) {
         t.strides[0] = -3;
       })},
      {"dlpack: no data", {"fromDLPack", "[2, 3] has no data"}, import, broken([](dlpack::DLTensor& t) {
         t.data = nullptr;
       })},
      {"dlpack: data between two elements", {"fromDLPack", "byte_offset"}, import, broken([](dlpack::DLTensor& t) {
         t.byte_offset = 2;
       })},
      {"dlpack: an offset out of memory", {"fromDLPack"}, import, broken([](dlpack::DLTensor& t) {
         t.byte_offset = UINT64_MAX - 3;
       })},
      {"dlpack: sizes overflow", {"fromDLPack"}, import, broken([](dlpack::DLTensor& t) {
         t.shape[0] = t.shape[1] = INT64_MAX;
       })},
  };
}

std::vector<BadInput> dataCases() {
  std::vector<BadInput> rows = boxedValueCases();
  for (auto* table : {&explainCases, &schemaCases, &dlpackCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
