#include "examples/inspecting/compiler.h"

#include "examples/parts.h"

#include <shunt/core/system_info.h>
#include <shunt/jit/budget.h>
#include <shunt/shunt.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace examples {

using namespace shunt;

namespace {

/// Whether calls are compiled here: not without libshunt_jit.so, nor with SHUNT_JIT=0.
bool compiles() { return system_info().jit.available && jit::enabled(); }

}  // namespace

// Which operators, with which keys and dtypes, are called often, and are they compiled?
void hotPairs() {
  if (!compiles()) return show(jit::stats().compiled == 0, "no compiler: every call is interpreted");
  const Tensor a = randn({64}), b = randn({64});
  for (int i = 0; i < 10000; ++i) add(a, b);
  jit::wait_idle();  // compiles what is queued; a program need not call this
  show(jit::explain("aten::add.Tensor", a, b).in_force, "add of two float tensors is compiled");
  std::cout << jit::explain("aten::add.Tensor", a, b).verdict << '\n' << jit::statsTable();
  // What SHUNT_STATS=report.json writes when the program ends, and `shunt stats report.json` reads.
  const jit::Stats report = jit::statsFromJson(jit::statsJson());
  const bool found = std::any_of(report.pairs.begin(), report.pairs.end(), [](const jit::PairStats& pair) {
    return pair.op == "aten::add.Tensor" && pair.state == jit::PairState::kCompiled;
  });
  show(found, "the report has the pair");
}

// A registration puts compiled code out of use before it returns.
void invalidation() {
  if (!compiles()) return show(jit::invalidation_log().empty(), "no compiler: nothing to invalidate");
  const Tensor x = linspace(-1, 1, 64);
  for (int i = 0; i < 10000; ++i) x.relu();
  jit::wait_idle();
  show(jit::explain("aten::relu", x).in_force, "relu is compiled");
  const size_t before = jit::invalidation_log().size();
  Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  block.impl("relu", [](const Tensor& t) { return t.neg(); });
  show(x.relu().equal(x.neg()), "the next call runs the new kernel");
  const auto log = jit::invalidation_log();
  show(log.size() > before, "the log has the reason:");
  std::cout << log.back().what << ": " << log.back().cause << '\n';
}

// The results are the same with and without the compiler.
void switches() {
  if (!compiles()) return show(jit::stats().compiled == 0, "no compiler: nothing to switch");
  const Tensor a = randn({64}), b = randn({64});
  for (int i = 0; i < 10000; ++i) mul(a, b);
  jit::wait_idle();
  const Tensor compiled = mul(a, b);
  jit::set_enabled(false);  // drops compiled code before it returns
  show(!jit::explain("aten::mul.Tensor", a, b).in_force, "switched off: interpreted");
  show(mul(a, b).equal(compiled), "the same bits");
  jit::set_enabled(true);
  const jit::BudgetStats spent = jit::budget_stats();
  show(spent.compiler_ms + spent.lifted_ms > 0, "budget_stats() counts the CPU time of compiling");
}

// What one process has compiled, a later one loads; here the same process, which has dropped it.
void diskCache() {
  if (!compiles()) return show(jit::stats().loaded == 0, "no compiler: nothing to keep");
  const std::string before = jit::cache_directory();
  const auto folder = std::filesystem::temp_directory_path() / ("shunt_cache_example_" + std::to_string(getpid()));
  jit::set_cache_directory(folder.string());
  const Tensor x = randn({64});
  const auto make_hot = [&] {
    for (int i = 0; i < 10000; ++i) x.tanh();
    jit::wait_idle();
  };
  make_hot();
  jit::clear();
  const uint64_t loaded = jit::stats().loaded;
  make_hot();
  const auto entries = jit::cache_entries(folder.string());
  for (const jit::CacheEntry& e : entries) std::cout << e.op << " {" << e.keys << "} " << e.signature << '\n';
  show(!entries.empty(), "entries are in the directory");
  show(jit::stats().loaded > loaded, "tanh was loaded, not compiled again");
  jit::set_cache_directory(before);
  std::filesystem::remove_all(folder);
}

}  // namespace examples
