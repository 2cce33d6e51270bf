// What would a call do, what did the program do, and what is compiled?
//
//   inspecting [call | registrations | dangling | steps | compiled | hot_pairs | invalidation |
//              switches | disk_cache | machine]
//
// Without a change of the program: SHUNT_TRACE=1, SHUNT_PROFILE=1 and SHUNT_STATS=1, or `shunt run` and `shunt
// profile`.
#include <shunt/core/dangling.h>
#include <shunt/core/system_info.h>
#include <shunt/shunt.h>

#include "examples/inspecting/compiler.h"
#include "examples/parts.h"

#include <cstdlib>
#include <iostream>
#include <vector>

namespace {

using namespace shunt;
using examples::show;

// Which kernels will run? The call isn't made.
void call() {
  const Tensor x = ones({2, 2}), w = ones({2, 2}).requires_grad_();
  const AutocastGuard autocast(kCPU, kBFloat16);
  const jit::Explanation e = jit::explain("aten::mm", x, w);
  std::vector<std::string> keys;
  for (const jit::ExplainedStep& step : e.chain) {
    if (step.skipped) continue;
    keys.push_back(step.key);
    std::cout << step.key << ": " << step.reason << ", " << step.place << '\n';
  }
  show(keys == std::vector<std::string>{"AutogradCPU", "AutocastCPU", "CPU"}, "autograd, autocast, then the product");
  show(e.json().find("\"AutocastCPU\"") != std::string::npos, "the same as JSON");
}

// Who registered what? The operator's own lists, and the table that follows from them.
void registrations() {
  const OperatorHandle relu = Dispatcher::singleton().findSchemaOrThrow("aten::relu");
  std::cout << relu.schema() << '\n' << relu.dumpState();
  const std::string before = relu.dumpComputedTable();
  {
    Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    block.impl("relu", [](const Tensor& x) { return x.clamp_min(0); });
    show(relu.dumpComputedTable().find("main.cpp") != std::string::npos, "the table names this file");
  }
  show(relu.dumpComputedTable() == before, "and not any more after the block");
  relu.checkInvariants();
}

// A kernel of a misspelt operator is no error, and no call finds it.
void dangling() {
  Library def(Library::Kind::kFragment, "example");
  def.def("twice(Tensor x) -> Tensor");
  Library block(Library::Kind::kImpl, "example", DispatchKey::CPU);
  block.impl("twise", [](const Tensor& x) { return x * 2; });
  std::cout << dumpDanglingImpls();
  show(danglingImpls().size() == 1, "1 kernel of an operator that nobody defined");
}

std::vector<std::string> seen;
void keep(const TraceStep& step) {
  seen.push_back(std::string(static_cast<size_t>(2 * step.depth), ' ') + step.op.operator_name().str() + " -> " +
                 toString(step.key) + ", " + step.reason);
}

// Every dispatch step of a block, for a function of the program.
void steps() {
  const Tensor x = ones({2, 2}).requires_grad_();
  seen.clear();
  set_trace(true, keep);
  const Tensor y = x.relu();
  set_trace(false);
  for (const std::string& line : seen) std::cout << line << '\n';
  show(seen.size() >= 2 && seen.back().find("CPU, kernel") != std::string::npos, "the last step is a kernel");
}

// What does a compiled function do with these arguments, and why?
void compiled() {
  const Tensor w = randn({12, 5}), bias = randn({5});
  const auto f = compile([&](const Tensor& x) { return addmm(bias, x, w).relu() * 2; },
                         {.max_sizes = 1, .record_after = 1, .name = "adder"});
  for (int i = 0; i < 3; ++i) f(ones({4, 12}));
  const std::string of_these = f.explain(ones({4, 12})), of_others = f.explain(ones({5, 12}));
  std::cout << of_these << of_others << f.plan();
  const char* expected = std::getenv("SHUNT_PROFILE") != nullptr ? "SHUNT_PROFILE" : "runs the graph";
  show(of_these.find(expected) != std::string::npos, "4 rows run the graph, unless calls are profiled");
  show(of_others.find("runs the function") != std::string::npos, "5 rows run the function");
  std::cout << f.counts().hits << " calls ran a graph\n";
}

// For a bug report.
void machine() {
  const SystemInfo info = system_info();
  std::cout << "Shunt " << info.version << ", loops use " << info.cpu.isa << ", " << info.threads << " threads\n";
  for (const SystemInfo::Variable& v : info.variables)
    if (v.name == "SHUNT_JIT_THRESHOLD") std::cout << v.name << " is " << v.value << ": " << v.description << '\n';
  show(info.version == SHUNT_VERSION, "the library has the version of the headers");
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SHUNT_JIT_KEEP", "1", 0);  // what is shown doesn't depend on times: compiled calls stay compiled
  return examples::runParts(argc, argv, "inspecting",
                            {{"call", call},
                             {"registrations", registrations},
                             {"dangling", dangling},
                             {"steps", steps},
                             {"compiled", compiled},
                             {"hot_pairs", examples::hotPairs},
                             {"invalidation", examples::invalidation},
                             {"switches", examples::switches},
                             {"disk_cache", examples::diskCache},
                             {"machine", machine}});
}
