// libshunt_jit.so's one entry: compiles a hot pair from plan to publication. One compile at a time (src/jit/compiler.h).
#include "jit/bitcode/extract.h"
#include "jit/bitcode/source_cache.h"
#include "jit/debug/debug_name.h"
#include "jit/debug/debug_switches.h"
#include "jit/debug/gdb_object.h"
#include "jit/debug/perf_map.h"
#include "jit/emit/count_calls.h"
#include "jit/emit/dump.h"
#include "jit/emit/fatal_errors.h"
#include "jit/emit/optimise.h"
#include "jit/emit/thunk_module.h"
#include "jit/link/linker.h"
#include "jit/plan/plan.h"

#include <shunt/core/log.h>

#include <llvm/Support/Error.h>

#include <ctime>

namespace shunt::jit {
namespace {

/// A thunk whose code goes with it.
class LinkedThunk final : public Thunk {
 public:
  LinkedThunk(LinkedCode linked, GdbObject gdb) : linked_(std::move(linked)), gdb_(std::move(gdb)) {}

 private:
  LinkedCode linked_;
  GdbObject gdb_;
};

double cpuMilliseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// Adds the CPU time since it was made, or since the last lap, to a phase.
class Stopwatch {
 public:
  void lap(double& phase) {
    const double now = cpuMilliseconds();
    phase += now - last_;
    last_ = now;
  }

 private:
  double last_ = cpuMilliseconds();
};

class LlvmProvider final : public Provider {
 public:
  CompileResult compile(const CompileRequest& request) noexcept override {
    CompileResult result;
    try {
      const std::string fatal = stoppingFatalErrors([&] { compileInto(request, result); });
      // It would come again, and every time costs the memory that it leaves behind.
      if (!fatal.empty()) {
        static_cast<void>(sources_.release());  // in pieces, as everything that LLVM was working on
        logOnce(request, fatal);
        refuse(result, fatal);
      }
    } catch (const std::exception& e) {
      result.verdict = Verdict::kFailed;
      result.reason = e.what();
    }
    if (result.verdict == Verdict::kFailed) logOnce(request, result.reason);
    return result;
  }

  PlanOutline outline(const CompileRequest& request) override {
    return Plan::make(request, Libraries::take()).outline();
  }

  size_t codeBytes() const noexcept override { return CodeSlabs::instance().usage().live; }

 private:
  void logOnce(const CompileRequest& request, const std::string& reason) {
    if (logged_failure_) return;
    logged_failure_ = true;
    shunt::detail::logWarning("the JIT could not compile " + std::string(request.op->name()) + ", it stays interpreted: " + reason);
  }

  SourceCache& sources() {
    if (sources_ == nullptr || compiles_++ % kCompilesPerCache == 0)
      sources_ = std::make_unique<SourceCache>(Library::host(), HostSymbols::instance());
    return *sources_;
  }

  void compileInto(const CompileRequest& request, CompileResult& result) {
    Stopwatch watch;
    const Libraries libraries = Libraries::take();
    const Plan plan = Plan::make(request, libraries);
    result.plan = plan.print();
    watch.lap(result.times.plan);
    if (!libraries.unchangedSince(request.library_generation)) return static_cast<void>(result.verdict = Verdict::kOutdated);
    if (!plan.refusal.empty()) return refuse(result, plan.refusal);

    const Dump dump(plan);
    SourceCache& cache = sources();
    const SourceCache::Loan loan(cache, libraries);
    Extraction extraction(cache);
    if (auto e = buildThunk(plan, extraction)) return refuse(result, llvm::toString(std::move(e)));
    if (request.counters != nullptr) countCalls(extraction.module(), *request.counters);
    watch.lap(result.times.extract);
    dump.module(extraction.module(), "before");
    if (auto e = optimise(extraction.module())) return fail(result, std::move(e));
    watch.lap(result.times.optimise);
    dump.module(extraction.module(), "after");
    if (const std::string left = unfolded(extraction.module()); !left.empty()) return refuse(result, left);
    dump.assembly(extraction.module());
    llvm::Function& root = *extraction.module().getFunction(kThunkName);
    root.setName(debugName(plan));
    const std::string name = root.getName().str();
    auto object = generate(extraction.module());
    if (!object) return fail(result, object.takeError());
    watch.lap(result.times.generate);
    auto thunk = linkThunk(std::move(*object), name, result.bytes);
    if (!thunk) return fail(result, thunk.takeError());
    watch.lap(result.times.link);
    publishThunk(plan, std::move(*thunk), result);
  }

  /// And tells perf and gdb, if they want to know.
  static llvm::Expected<intrusive_ptr<LinkedThunk>> linkThunk(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& name,
                                                             size_t& bytes) {
    const std::string copy = gdbWanted() ? object->getBuffer().str() : std::string();
    SectionAddresses sections;
    auto linked = link(std::move(object), gdbWanted() ? &sections : nullptr);
    if (!linked) return linked.takeError();
    bytes = linked->bytes();
    const uint64_t address = linked->address(name);
    addToPerfMap(*linked, name);
    auto thunk = make_intrusive<LinkedThunk>(std::move(*linked), gdbWanted() ? GdbObject(copy, sections) : GdbObject());
    thunk->code = reinterpret_cast<void*>(address);
    return thunk;
  }

  static void publishThunk(const Plan& plan, intrusive_ptr<LinkedThunk> thunk, CompileResult& result) {
    thunk->op = plan.request.op;
    thunk->keys = plan.request.keys;
    thunk->signature = plan.request.signature;
    thunk->edges = plan.edges;
    result.verdict = publish(std::move(thunk)) ? Verdict::kCompiled : Verdict::kOutdated;
  }

  static void refuse(CompileResult& result, std::string why) {
    result.verdict = Verdict::kRefused;
    result.reason = std::move(why);
  }
  static void fail(CompileResult& result, llvm::Error error) {
    result.verdict = Verdict::kFailed;
    result.reason = llvm::toString(std::move(error));
  }

  // A cache grows by what contexts keep of each compile: 1 to 2 MB in so many.
  static constexpr unsigned kCompilesPerCache = 256;
  std::unique_ptr<SourceCache> sources_;
  unsigned compiles_ = 0;
  bool logged_failure_ = false;
};

}  // namespace
}  // namespace shunt::jit

extern "C" SHUNT_API shunt::jit::Provider* shunt_jit_provider(int version) {
  if (version != shunt::jit::kProviderVersion) return nullptr;
  static auto* const provider = new shunt::jit::LlvmProvider;
  return provider;
}
