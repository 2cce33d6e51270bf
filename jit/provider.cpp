// libshunt_jit.so's one entry: compiles a hot pair from plan to publication, and fused loops. One compile at a time
// (src/tiering/compiler.h).
#include "jit/bitcode/extract.h"
#include "jit/bitcode/source_cache.h"
#include "jit/cache/cache_key.h"
#include "jit/cache/process_addresses.h"
#include "jit/cache/recent_objects.h"
#include "jit/cache/thunk_cache.h"
#include "jit/compile_fused.h"
#include "jit/debug/debug_name.h"
#include "jit/emit/count_calls.h"
#include "jit/emit/dump.h"
#include "jit/emit/optimise.h"
#include "jit/emit/planned_calls.h"
#include "jit/emit/thunk_module.h"
#include "jit/fork.h"
#include "jit/host/debug_switches.h"
#include "jit/host/fatal_errors.h"
#include "jit/host/stopping.h"
#include "jit/host/stopwatch.h"
#include "jit/linked_thunk.h"
#include "jit/plan/plan.h"
#include "jit/plan/plan_symbols.h"

#include <shunt/core/log.h>

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <optional>

namespace shunt::jit {
namespace {

/// Where a plan's code may be found; "" where it isn't kept.
struct Keys {
  std::string disk, memory;
};

/// One compile of a plan: what its steps work with.
struct Job {
  const Plan& plan;
  const PlanSymbols& symbols;
  const Keys keys;
  SourceCache& sources;
  const Dump& dump;
  CompileResult& result;
  Stopwatch& watch;
};

class LlvmProvider final : public Provider {
 public:
  // Nobody has the provider yet. Made at the first link, the slabs would stay half made in a child of a fork that comes
  // upon it, and stats() asks for them there too.
  LlvmProvider() { holdLocksAcrossFork(); }

  CompileResult compile(const CompileRequest& request) noexcept override {
    CompileResult result;
    try {
      const std::string fatal = stoppingFatalErrors([&] { compileInto(request, result); });
      if (!fatal.empty()) refuseFor(fatal, request.op->name(), result);
    } catch (const std::exception& e) {
      result.verdict = Verdict::kFailed;
      result.reason = e.what();
    }
    if (result.verdict == Verdict::kFailed) logOnce(request.op->name(), result.reason);
    return result;
  }

  FusedResult compileFused(const FusedRequest& request) noexcept override {
    FusedResult result;
    try {
      const std::string fatal = stoppingFatalErrors([&] { compileInto(request, result); });
      if (!fatal.empty()) refuseFor(fatal, "a fused loop", result);
    } catch (const std::exception& e) {
      result.verdict = Verdict::kFailed;
      result.reason = e.what();
    }
    if (result.verdict == Verdict::kFailed) logOnce("a fused loop", result.reason);
    return result;
  }

  PlanOutline outline(const CompileRequest& request) override {
    return Plan::make(request, Libraries::take()).outline();
  }

  std::vector<CacheEntry> cacheEntries(const std::string& directory) override { return ThunkCache::entries(directory); }
  size_t clearCache(const std::string& directory) override { return ThunkCache::clear(directory); }

  void stop() noexcept override { beginStopping(); }

  void dropCaches() noexcept override {
    sources_ = nullptr;
    recent_.clear();
  }

  size_t codeBytes() const noexcept override { return CodeSlabs::instance().usage().live; }

  std::string llvmVersion() const override { return LLVM_VERSION_STRING; }

 private:
  void logOnce(std::string_view what, const std::string& reason) {
    if (logged_failure_ || isStopping()) return;
    logged_failure_ = true;
    shunt::detail::logWarning("the JIT could not compile " + std::string(what) + ", it stays interpreted: " + reason);
  }

  /// A fatal error of LLVM's would come again, and every time costs the memory that it leaves behind.
  template <class Result>
  void refuseFor(const std::string& fatal, std::string_view what, Result& result) {
    static_cast<void>(sources_.release());  // in pieces, as everything that LLVM was working on
    logOnce(what, fatal);
    result.verdict = Verdict::kRefused;
    result.reason = fatal;
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
    if (!libraries.unchangedSince(request.library_generation))
      return static_cast<void>(result.verdict = Verdict::kOutdated);
    if (!plan.refusal.empty()) return refuse(result, plan.refusal);

    const PlanSymbols symbols(plan);
    // Where the disk cache has the second tier's thunk, nobody needs the first's.
    const bool has_tiers = request.tier == Tier::kFirst && !request.only_this_tier;
    if (has_tiers && !request.cache.empty()) {
      const Plan second = plan.ofTier(Tier::kSecond);
      if (load(second, symbols, keysOf(second, symbols), result, watch)) return;
    }
    const Keys keys = keysOf(plan, symbols);
    if (load(plan, symbols, keys, result, watch)) return;
    if (reuse(plan, symbols, keys, result, watch)) return;
    if (request.only_load) {
      result.absent = true;
      return static_cast<void>(result.verdict = Verdict::kOutdated);
    }

    const Dump dump(plan);
    SourceCache& cache = sources();
    const SourceCache::Loan loan(cache, libraries);
    Reliance reliance = plan.foreseen();
    if (build({plan, symbols, keys, cache, dump, result, watch}, reliance) == Built::kDone) return;
    // The first tier's passes fold less.
    const Plan second = plan.ofTier(Tier::kSecond);
    build({second, symbols, keysOf(second, symbols), cache, dump, result, watch}, reliance);
  }

  void compileInto(const FusedRequest& request, FusedResult& result) {
    FusedCompile work(request, cache_, result);
    if (work.load()) return;
    if (request.only_load) return static_cast<void>(result.verdict = Verdict::kOutdated);
    work.compile(sources());
  }

  enum class Built : uint8_t { kDone, kOnlyBySecondTier };

  /// Compiles and publishes, or says in the job's result why not. kOnlyBySecondTier: with the slots that `reliance` has
  /// by then.
  Built build(const Job& job, Reliance& reliance) {
    const Plan& plan = job.plan;
    std::optional<Extraction> made;
    while (true) {
      made.emplace(job.sources);
      auto used = buildThunk(plan, reliance, *made);
      if (!used) return refuse(job, llvm::toString(used.takeError()));
      if (plan.request.counters != nullptr) countCalls(made->module(), job.symbols, *plan.request.counters);
      job.watch.lap(job.result.times.extract);
      job.dump.module(made->module(), "before");
      std::vector<Redispatch> redispatches;
      auto effort = optimise(made->module(), &redispatches, plan.request.tier);
      if (!effort) return fail(job, effort.takeError());
      if (isStopping()) return stopped(job);
      job.watch.lap(job.result.times.optimise);
      job.dump.module(made->module(), "after");
      job.result.plan = plan.print(*used);
      std::string unknown;
      bool more = false;  // each time the slots of some chain, so it ends
      if (!std::ranges::all_of(redispatches, &Redispatch::known))
        unknown = kKeysUnknown;
      else
        for (const Redispatch& r : redispatches) more |= reliance[r.chain].relyOn(r.keys);
      if (unknown.empty() && !more) unknown = unfolded(made->module());
      if (unknown.empty() && !more) return finish(job, *used, *made, *effort);
      if (!unknown.empty() && plan.request.tier == Tier::kSecond) return refuse(job, unknown);
      if (!unknown.empty()) return Built::kOnlyBySecondTier;
      made.reset();
    }
  }

  /// From the optimised module to the published thunk.
  Built finish(const Job& job, const Reliance& reliance, Extraction& extraction, Effort effort) {
    const Plan& plan = job.plan;
    CompileResult& result = job.result;
    result.worth_again = plan.request.tier == Tier::kFirst && isWorthSecondTier(plan, extraction.module());
    job.dump.assembly(extraction.module(), effort);
    extraction.module().getFunction(kThunkName)->setName(debugName(plan));
    const bool movable = !holdsProcessAddress(extraction.module(), job.symbols);
    std::optional<CachedObject> cached;
    if (!job.keys.disk.empty()) cached = portable(job, reliance, extraction.module(), movable);
    auto object = generate(extraction.module(), effort);
    if (!object) return fail(job, object.takeError());
    job.watch.lap(result.times.generate);
    if (movable && !job.keys.memory.empty())
      recent_.add(job.keys.memory, {debugName(plan), usedChains(reliance), (*object)->getBuffer().str(),
                                    result.worth_again, cached ? std::optional(cached->literals) : std::nullopt});
    if (cached) {
      cached->object = (*object)->getBuffer().str();
      cached->worth_again = result.worth_again;
    }
    auto thunk = LinkedThunk::make(std::move(*object), debugName(plan), plan, reliance, job.symbols);
    if (!thunk) return fail(job, thunk.takeError());
    (*thunk)->worth_again = result.worth_again;
    publishThunk(std::move(*thunk), result);
    job.watch.lap(result.times.link);
    if (cached) cache_.store(plan.request.cache, *cached);
    job.watch.lap(result.times.cache);
    return Built::kDone;
  }

  /// Not of what people want to see compiled, or what depends on more than the key says.
  static Keys keysOf(const Plan& plan, const PlanSymbols& symbols) {
    const bool has_cache = !plan.request.cache.empty();
    if (Dump::wanted()) return {};
    if (plan.usesOtherLibraries()) {
      if (has_cache) logNotKept(plan, "it inlines kernels of another library");
      return {};
    }
    auto code = codeKey(plan, symbols);
    auto disk = !has_cache ? std::string() : code ? cacheKey(plan, *code) : code.takeError();
    if (!disk) logNotKept(plan, llvm::toString(disk.takeError()));
    if (!code) llvm::consumeError(code.takeError());    // without a cache nobody has asked why
    const bool is_named = gdbWanted() || perfWanted();  // after the pair that it was compiled for
    return {disk ? std::move(*disk) : "", code && !is_named ? std::move(*code) : ""};
  }

  /// What goes with the object that another process can use, before the code generator takes the module to pieces;
  /// nothing where it can't.
  static std::optional<CachedObject> portable(const Job& job, const Reliance& reliance, const llvm::Module& module,
                                              bool movable) {
    if (movable)
      if (auto literals = literalsOf(module))
        return CachedObject{job.keys.disk, usedChains(reliance), std::move(*literals), "", false, debugName(job.plan)};
    logNotKept(job.plan, "its code depends on where this process has something");
    return std::nullopt;
  }

  static void logNotKept(const Plan& plan, const std::string& why) {
    shunt::detail::log(LogLevel::kDebug, "not kept in the disk cache: " + debugName(plan) + ": " + why);
  }

  static std::vector<CachedObject::UsedChain> usedChains(const Reliance& reliance) {
    std::vector<CachedObject::UsedChain> out;
    for (uint64_t place = 0; place < reliance.size(); ++place) {
      const ChainUse& chain = reliance[place];
      if (!chain.used) continue;
      out.push_back({place, {}});
      for (uint64_t slot = 0; slot < chain.slots.size(); ++slot)
        if (chain.slots.test(slot)) out.back().slots.push_back(slot);
    }
    return out;
  }

  /// None where the plan has no such chain or slot.
  static std::optional<Reliance> relianceOn(const Plan& plan, const std::vector<CachedObject::UsedChain>& chains) {
    Reliance reliance = plan.foreseen();
    for (const auto& [place, slots] : chains) {
      if (place >= reliance.size()) return std::nullopt;
      ChainUse& chain = reliance[place];
      chain.used = true;
      for (uint64_t slot : slots) {
        if (slot >= chain.slots.size()) return std::nullopt;
        chain.slots.set(slot);
      }
    }
    return reliance;
  }

  /// Whether the disk cache had it.
  bool load(const Plan& plan, const PlanSymbols& symbols, const Keys& keys, CompileResult& result, Stopwatch& watch) {
    if (keys.disk.empty()) return false;
    ThunkCache::Found found = cache_.find(plan.request.cache, keys.disk);
    result.cache = found.answer;
    result.cache_problem = std::move(found.problem);
    watch.lap(result.times.cache);
    if (found.answer != CacheAnswer::kLoaded) return false;
    if (gdbWanted() && found.object.function != debugName(plan)) {  // gdb would show another pair's name
      result.cache = CacheAnswer::kNothing;
      return false;
    }
    const auto reliance = relianceOn(plan, found.object.chains);
    auto thunk = reliance ? LinkedThunk::make(llvm::MemoryBuffer::getMemBuffer(found.object.object, "", false),
                                              found.object.function, plan, *reliance, symbols)
                          : llvm::createStringError("it inlines operators that the plan doesn't have");
    if (thunk) {
      result.plan = plan.print(*reliance);
      (*thunk)->worth_again = result.worth_again = found.object.worth_again;
      publishThunk(std::move(*thunk), result);
      watch.lap(result.times.link);
      return true;
    }
    result.cache = CacheAnswer::kRejected;
    result.cache_problem = llvm::toString(thunk.takeError());
    return false;
  }

  /// Whether an object that was compiled for another pair, or for this one before, is the plan's code too. It goes to
  /// the disk under this pair's name as well: the next process may meet the pairs in another order.
  bool reuse(const Plan& plan, const PlanSymbols& symbols, const Keys& keys, CompileResult& result, Stopwatch& watch) {
    const RecentObjects::Object* found = keys.memory.empty() ? nullptr : recent_.find(keys.memory);
    const auto reliance = found != nullptr ? relianceOn(plan, found->chains) : std::nullopt;
    if (!reliance) return false;
    auto thunk = LinkedThunk::make(llvm::MemoryBuffer::getMemBufferCopy(found->object, ""), found->function, plan,
                                   *reliance, symbols);
    if (!thunk) return llvm::consumeError(thunk.takeError()), false;
    result.plan = plan.print(*reliance) + "  code: as compiled before for the same plan\n";
    (*thunk)->worth_again = result.worth_again = found->worth_again;
    publishThunk(std::move(*thunk), result);
    watch.lap(result.times.link);
    if (!keys.disk.empty() && found->literals)
      cache_.store(plan.request.cache,
                   {keys.disk, found->chains, *found->literals, found->object, found->worth_again, found->function});
    watch.lap(result.times.cache);
    return true;
  }

  static void publishThunk(intrusive_ptr<LinkedThunk> thunk, CompileResult& result) {
    result.bytes = thunk->bytes();
    result.tier = thunk->tier;
    result.verdict = publish(std::move(thunk)) ? Verdict::kCompiled : Verdict::kOutdated;
  }

  /// Without a loop, operators to inline or much code, the second tier would make the same of it.
  static bool isWorthSecondTier(const Plan& plan, const llvm::Module& module) {
    // So few are the arguments of one call and the call: nothing that further passes could fold.
    constexpr unsigned kMuchCode = 60;
    return plan.specialises() || !plan.inner.empty() || module.getInstructionCount() > kMuchCode;
  }

  static void refuse(CompileResult& result, std::string why) {
    result.verdict = Verdict::kRefused;
    result.reason = std::move(why);
  }
  static Built refuse(const Job& job, std::string why) {
    refuse(job.result, std::move(why));
    return Built::kDone;
  }
  static Built stopped(const Job& job) {
    job.result.verdict = Verdict::kOutdated;
    job.result.reason = kStopped;
    return Built::kDone;
  }
  static Built fail(const Job& job, llvm::Error error) {
    job.result.verdict = error.isA<FatalLinkError>() ? Verdict::kRefused : Verdict::kFailed;
    job.result.reason = llvm::toString(std::move(error));
    return Built::kDone;
  }

  // A cache grows by what it reads and by what contexts keep of each compile: in the second half of so many by 2 MiB
  // (elementwise operators), and the process by up to 9 (all operators). A new one reads its units again, a millisecond
  // each: with half as many compiles for a cache, those of all operators took 8 % longer.
  static constexpr unsigned kCompilesPerCache = 1024;
  std::unique_ptr<SourceCache> sources_;
  static constexpr size_t kRecentBytes = size_t{1} << 20;  // some 170 objects with their keys
  ThunkCache cache_;
  RecentObjects recent_{kRecentBytes};
  unsigned compiles_ = 0;
  bool logged_failure_ = false;
};

}  // namespace
}  // namespace shunt::jit

extern "C" SHUNT_API shunt::jit::Provider* shunt_jit_provider(int version) {
  if (version != shunt::jit::kProviderVersion) return nullptr;
  try {
    static auto* const provider = new shunt::jit::LlvmProvider;
    return provider;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
