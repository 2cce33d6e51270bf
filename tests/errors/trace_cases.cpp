// trace() and Graph. Rows trace functions that write nothing, or fake tensors.
#include "tests/errors/bed.h"

#include <shunt/interpose/dispatch_mode.h>
#include <shunt/trace/trace.h>

namespace shunt::testing {
namespace {

struct Idle : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
  std::string name() const override { return "Idle"; }
};

Tensor escaped(const Bed& bed) {
  Tensor out;
  trace([&](const Tensor& x) { return out = x.neg(); }, bed.a);
  return out;
}

Graph negated(const Bed& bed) {
  return trace([](const Tensor& x) { return x.neg().abs(); }, bed.a);
}

}  // namespace

static std::vector<BadInput> tracedCases() {
  return {
      {"trace: item",
       {"aten::_local_scalar_dense", "records operators, not numbers", "outside of the traced function"},
       [](Bed& bed) { trace([](const Tensor& x) { return x * x.sum().item(); }, bed.a); }},
      {"trace: item of a captured tensor",
       {"aten::_local_scalar_dense", "records operators"},
       [](Bed& bed) { trace([&](const Tensor& x) { return x * bed.scalar.item(); }, bed.a); }},
      {"trace: item on fake tensors",
       {"records operators, not numbers"},
       [](Bed& bed) { trace([](const Tensor& x) { return x * x.sum().item(); }, bed.a, {.fake = true}); }},
      {"trace: data_ptr",
       {"data pointer", "a traced tensor"},
       [](Bed& bed) {
         trace(
             [](const Tensor& x) {
               x.data_ptr<float>();
               return x;
             },
             bed.a);
       }},
      {"trace: to DLPack",
       {"a traced tensor"},
       [](Bed& bed) {
         trace(
             [](const Tensor& x) {
               toDLPack(x);
               return x;
             },
             bed.a);
       }},
      {"trace: a mode inside",
       {"Idle", "trace() records", "around trace()"},
       [](Bed& bed) {
         trace(
             [](const Tensor& x) {
               Idle mode;
               const DispatchModeGuard on(mode);
               return x.neg();
             },
             bed.a);
       }},
      {"trace: in a trace",
       {"trace", "records already"},
       [](Bed& bed) {
         trace(
             [](const Tensor& x) {
               trace([](const Tensor& y) { return y; }, x);
               return x;
             },
             bed.a);
       }},
      {"trace: under a FunctionalizeGuard",
       {"trace", "FunctionalizeGuard", "TraceOptions::functionalize"},
       [](Bed& bed) {
         const FunctionalizeGuard guard;
         trace([](const Tensor& x) { return x; }, bed.a);
       }},
      {"trace: set_data",
       {"set_data", "trace() records operators"},
       [](Bed& bed) {
         trace(
             [&](const Tensor& x) {
               bed.b.set_data(bed.a);
               return x;
             },
             bed.a);
       }},
      {"trace: escaped",
       {"aten::relu", "'self'", "traced tensor of shape [2, 3]", "dead", "Graph::run()"},
       [](Bed& bed) { bed.x.relu(); },
       [](Bed& bed) { bed.x = escaped(bed); }},
      {"trace: escaped, item",
       {"aten::", "dead"},
       [](Bed& bed) { bed.x.sum().item(); },
       [](Bed& bed) { bed.x = escaped(bed); }},
      {"trace: escaped, in another trace",
       {"belongs to another trace()"},
       [](Bed& bed) { trace([&](const Tensor& x) { return x + bed.x; }, bed.a); },
       [](Bed& bed) { bed.x = escaped(bed); }},
      {"trace: escaped, as an input",
       {"an input is a traced tensor already"},
       [](Bed& bed) { trace([](const Tensor& x) { return x; }, bed.x); },
       [](Bed& bed) { bed.x = escaped(bed); }},
      {"trace: shapes",
       {"[2, 3]", "[2, 4]"},
       [](Bed& bed) { trace([](const Tensor& x, const Tensor& y) { return x + y; }, std::pair{bed.a, bed.b}); }},
      {"trace: backward of six elements",
       {"[2, 3]"},
       [](Bed& bed) {
         trace(
             [](const Tensor& x) {
               (x * 2).backward();
               return x;
             },
             bed.leaf, {.fake = true});
       }},
      {"trace: a leaf in place",
       {"leaf"},
       [](Bed& bed) { trace([](const Tensor& x) { return Tensor(x).add_(1); }, bed.leaf); }},
      {"trace: the function throws",
       {"from inside"},
       [](Bed& bed) {
         trace(
             [](const Tensor& x) -> Tensor {
               x.neg();
               throw Error("from inside");
             },
             bed.a);
       }},
  };
}

static std::vector<BadInput> graphCases() {
  return {
      {"graph: too few inputs", {"Graph::run", "1 inputs, got 0"}, [](Bed& bed) { negated(bed).run({}); }},
      {"graph: another shape",
       {"Graph::run", "input 0", "float32[2, 3]", "float32[2, 4]", "trace the function"},
       [](Bed& bed) { negated(bed).run({bed.b}); }},
      {"graph: another dtype", {"input 0", "got float64[2, 3]"}, [](Bed& bed) { negated(bed).run({bed.doubles}); }},
      {"graph: another device", {"input 0", "on meta"}, [](Bed& bed) { negated(bed).run({bed.meta}); }},
      {"graph: undefined input", {"input 0 is undefined"}, [](Bed& bed) { negated(bed).run({bed.undefined}); }},
      {"graph: erase what is used",
       {"Graph::erase", "aten::neg", "used by aten::abs"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.erase(g.nodes()[0]);
       }},
      {"graph: erase an output",
       {"Graph::erase", "aten::abs", "is an output"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.erase(g.nodes()[1]);
       }},
      {"graph: erase a node of another one",
       {"not one of this graph"},
       [](Bed& bed) {
         Graph g = negated(bed);
         const Graph other = negated(bed);
         g.erase(other.nodes()[0]);
       }},
      {"graph: replace by another shape",
       {"Graph::replace", "float32[2, 3]", "float32[2, 4]"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.replace(g.inputs()[0], g.addInput(specOf(bed.b)));
       }},
      {"graph: insert an unknown operator",
       {"aten::nosuch"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.insert(nullptr, "aten::nosuch", {g.inputs()[0]});
       }},
      {"graph: insert with too few arguments",
       {"Graph::insert", "aten::mm", "'mat2' is missing"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.insert(nullptr, "aten::mm", {g.inputs()[0]});
       }},
      {"graph: insert with too many arguments",
       {"Graph::insert", "has 1 arguments, got 2"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.insert(nullptr, "aten::neg", {g.inputs()[0], g.inputs()[0]});
       }},
      {"graph: use before definition",
       {"Graph: node 0, aten::neg", "'self'", "earlier node"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.nodes()[0]->arguments[0] = g.nodes()[1]->result();
         g.verify();
       }},
      {"graph: an argument of another type",
       {"Graph: node 0, aten::neg", "expected Tensor, got str"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.nodes()[0]->arguments[0] = Graph::Argument(IValue("text"));
         g.verify();
       }},
      {"graph: another shape than recorded",
       {"Graph: node 0, aten::neg", "float32[7]", "float32[2, 3]"},
       [](Bed& bed) {
         Graph g = negated(bed);
         g.nodes()[0]->result()->spec.sizes = {7};
         g.verify();
       }},
      {"graph: load a missing file", {"Graph::load", "/nonexistent"}, [](Bed&) { Graph::load("/nonexistent/graph"); }},
      {"graph: load a folder", {"Graph::load", "/"}, [](Bed&) { Graph::load("/"); }},
      {"graph: load another file",
       {"Graph::load", "not a graph that Graph::save() wrote"},
       [](Bed&) { Graph::load("/proc/self/exe"); }},
      {"graph: save where there is no folder",
       {"Graph::save", "/nonexistent"},
       [](Bed& bed) { negated(bed).save("/nonexistent/graph"); }},
      {"graph: save a constant without data",
       {"Graph::save", "constant %1", "meta"},
       [](Bed& bed) { trace([&](const Tensor& x) { return x + bed.x; }, bed.meta).save("/nonexistent/graph"); },
       [](Bed& bed) { bed.x = bed.meta.neg(); }},
  };
}

std::vector<BadInput> traceCases() {
  std::vector<BadInput> rows = tracedCases();
  for (BadInput& row : graphCases()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
