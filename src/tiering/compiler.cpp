#include "src/tiering/compiler.h"

#include "src/dispatch/thunk.h"
#include "src/tiering/fused_loops.h"
#include "src/tiering/pairs.h"
#include "src/tiering/report.h"
#include "src/tiering/switches.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/log.h>
#include <shunt/core/thread_signals.h>
#include <shunt/version.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

namespace shunt::jit {
namespace {

constexpr int64_t kMillisecond = 1'000'000, kSecond = 1000 * kMillisecond;
// Programs get hot in bursts: a pause of that length is the end of one.
constexpr int64_t kKeepsCaches = 5 * kSecond;
constexpr int64_t kReports = std::chrono::nanoseconds(report::kInterval).count();

#if defined(CLOCK_MONOTONIC_COARSE)
constexpr clockid_t kCoarseClock = CLOCK_MONOTONIC_COARSE;
#else
constexpr clockid_t kCoarseClock = CLOCK_MONOTONIC;
#endif

int64_t nowOf(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

/// For how long to do something else when the process has to use so much more CPU time: it may have several threads.
int64_t pauseFor(int64_t cpu_time) { return std::clamp(cpu_time, 10 * kMillisecond, kSecond); }

/// Of the calling thread. A thread of it leaves its locks soon even so, unlike one of SCHED_IDLE, which may never run.
void takeLowPriority() {
  constexpr int kNice = 10;
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  const auto self = static_cast<id_t>(gettid());
  if (getpriority(PRIO_PROCESS, self) < kNice) setpriority(PRIO_PROCESS, self, kNice);
}

constexpr const char* kNoLibrary = "libshunt_jit.so is not available";
constexpr const char* kClosed = "the compiler can't run here: its thread did not start, or a fork came upon a compile";

/// Of the same build as libshunt, which stands beside others' in one folder where several are installed.
constexpr const char* kLibrary = "libshunt_jit.so." SHUNT_ABI_VERSION;

/// Beside the library that this code is in.
std::string providerPath() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&providerPath), &info) == 0 || info.dli_fname == nullptr) return kLibrary;
  std::error_code ignored;
  const auto here = std::filesystem::canonical(info.dli_fname, ignored).parent_path();
  return (here / kLibrary).string();
}

/// What SHUNT_LOG=info and debug show of every compile.
void logCompile(const PairKey& key, const CompileResult& r) noexcept try {
  const auto pair = [&] {
    return shunt::detail::str(OperatorHandle(*key.op).operator_name(), " {", DispatchKeySet::fromRaw(key.keys), "} (",
                              describeSignature(key.signature), ")");
  };
  using shunt::LogLevel;
  switch (r.verdict) {
    case Verdict::kCompiled:
      if (r.cache == CacheAnswer::kRejected)
        shunt::detail::log(LogLevel::kInfo, shunt::detail::str("the disk cache's thunk can't be used for ", pair(),
                                                               ": ", r.cache_problem));
      return shunt::detail::log(
          LogLevel::kInfo, shunt::detail::str(r.cache == CacheAnswer::kLoaded ? "loaded " : "compiled ", pair(), ": ",
                                              r.times.total(), " ms, ", r.bytes, " bytes"));
    case Verdict::kRefused:
      return shunt::detail::log(LogLevel::kInfo, shunt::detail::str("not compiled: ", pair(), ": ", r.reason));
    case Verdict::kOutdated:
      return shunt::detail::log(LogLevel::kDebug, shunt::detail::str("outdated while compiled: ", pair()));
    case Verdict::kFailed:
      return shunt::detail::log(LogLevel::kInfo, shunt::detail::str("could not compile ", pair(), ": ", r.reason));
  }
} catch (const std::exception&) {  // no memory for a line of log
}

CompileResult refusal(const char* reason) {
  CompileResult result;
  result.verdict = Verdict::kRefused;
  result.reason = reason;
  return result;
}

/// Its pair is recorded anew when it is hot again. Where memory is short it stays, and its further compile is asked for
/// later.
void retireThunkOf(const PairKey& key) noexcept try {
  for (const auto& t : publishedThunks())
    if (PairKey{t->op, t->keys, t->signature} == key)
      retire(*t, "a library was loaded or unloaded before it was compiled again");
} catch (const std::bad_alloc&) {
}

/// Allocates, which compile() itself is ready to see fail.
CompileResult compileCached(Provider& provider, CompileRequest request) noexcept try {
  request.cache = cache_directory();
  return provider.compile(request);
} catch (const std::exception& e) {
  CompileResult result;
  result.reason = e.what();
  return result;
}

FusedResult compileCached(Provider& provider, const FusedLoopSpec& spec, Wanted wanted) noexcept try {
  return provider.compileFused({spec, cache_directory(), wanted == Wanted::kStored});
} catch (const std::exception& e) {
  FusedResult result;
  result.reason = e.what();
  return result;
}

}  // namespace

Compiler& Compiler::instance() {
  static Compiler* const compiler = new Compiler;  // never destroyed
  return *compiler;
}

Compiler::Compiler() : queue_(new Queue) {
  pthread_atfork([] { instance().beforeFork(); }, [] { instance().afterForkInParent(); },
                 [] { instance().afterForkInChild(); });
}

namespace {
// At load, as a fork while another thread makes it would leave it half made. After the dispatcher, whose locks a fork
// takes later.
[[maybe_unused]] const Compiler& made_at_load = (static_cast<void>(Dispatcher::singleton()), Compiler::instance());
}  // namespace

// Waits for no compile, and every other lock that a compile needs is held across a fork by its owner.
void Compiler::beforeFork() {
  fork_mutex_.lock();
  quiet_at_fork_ = compile_mutex_.try_lock();
}

void Compiler::afterForkInParent() {
  if (quiet_at_fork_) compile_mutex_.unlock();
  fork_mutex_.unlock();
}

void Compiler::afterForkInChild() {
  if (quiet_at_fork_)
    compile_mutex_.unlock();
  else
    closed_.store(true, std::memory_order_relaxed);
  // The parent's stays as it was at the fork: its lock may be held, and its thread and who waited for it are not here.
  queue_ = new Queue;
  check_at_.store(kNotWaiting, std::memory_order_relaxed);
  Pairs::instance().forgetQueue();
  FusedLoops::instance().forgetQueue();
  fork_mutex_.unlock();
}

bool Compiler::submit(const CompileRequest& request) noexcept try {
  const auto& calls = Pairs::instance().interpreted({request.op, request.keys, request.signature});
  return push(request, Waiting::kInterpreted, [&calls] { return calls.load(std::memory_order_relaxed); });
} catch (const std::bad_alloc&) {
  return false;
}

// The thunk is held for its count. It is the caller's meanwhile, and was published, so it is not being destroyed.
bool Compiler::submitAgain(const CompileRequest& request, const Thunk& thunk) noexcept try {
  const auto held = intrusive_ptr<const Thunk>::retainFrom(&thunk);
  return push(request, Waiting::kWithThunk, [held] { return static_cast<uint64_t>(held->timing.uses()); });
} catch (const std::bad_alloc&) {
  return false;
}

bool Compiler::submitMissed(const CompileRequest& request) noexcept {
  const MissCount* count = request.misses;  // never freed
  return push(request, Waiting::kWithThunk,
              [count] { return static_cast<uint64_t>(count->misses.load(std::memory_order_relaxed)); });
}

bool Compiler::submit(std::shared_ptr<FusedLoop> loop) noexcept { return push(std::move(loop)); }

template <class... Request>
bool Compiler::push(Request&&... request) noexcept try {
  if (closed_.load(std::memory_order_relaxed)) return false;
  Queue& queue = *queue_;
  std::lock_guard lock(queue.mutex);
  if (queue.stopping) return false;
  if (!queue.requests.push(std::forward<Request>(request)...)) return false;
  if (!queue.started) startIfDue(queue);
  queue.changed.notify_all();
  return true;
} catch (const std::bad_alloc&) {  // there may be memory when it is asked for again
  return false;
} catch (const std::exception& e) {
  cantStart(e);
  return false;
}

/// No thread: once is enough to say so, and nothing is tried again. What is queued stays so.
void Compiler::cantStart(const std::exception& e) noexcept {
  if (!closed_.exchange(true))
    shunt::detail::logWarning(std::string("the JIT is off: its thread can't start: ") + e.what());
}

void Compiler::checkWhetherToStart() noexcept try {
  if (nowOf(kCoarseClock) < check_at_.load(std::memory_order_relaxed)) return;
  Queue& queue = *queue_;
  const std::unique_lock lock(queue.mutex, std::try_to_lock);
  if (!lock.owns_lock() || queue.started || queue.stopping) return;
  if (queue.requests.empty() || closed_.load(std::memory_order_relaxed))
    return check_at_.store(kNotWaiting, std::memory_order_relaxed);
  startIfDue(queue);
} catch (const std::exception& e) {
  cantStart(e);
}

/// The first piece of work needs LLVM, so it is due when the cheapest one is.
void Compiler::startIfDue(Queue& queue) {
  queue.budget.setPercent(budget());
  const int64_t due = isLifted(queue) || report::wantedMeanwhile() ? 0 : queue.budget.dueAt(Step::kLook);
  const int64_t used = nowOf(CLOCK_PROCESS_CPUTIME_ID);
  if (due <= used) return start(queue);
  check_at_.store(due == Budget::kNever ? kNotWaiting : nowOf(kCoarseClock) + pauseFor(due - used),
                  std::memory_order_relaxed);
}

void Compiler::start(Queue& queue) {
  [[maybe_unused]] static const int at_exit = std::atexit([] { instance().stop(); });
  const shunt::detail::NoSignals no_signals;
  queue.worker = std::thread([this, &queue] { run(queue); });
  queue.started = true;
  check_at_.store(kNotWaiting, std::memory_order_relaxed);
}

void Compiler::run(Queue& queue) {
  bool has_low_priority = false;
  Lock lock(queue.mutex);
  while (auto job = waitForJob(queue, lock)) {
    queue.busy = true;
    const bool lifted = isLifted(queue);
    lock.unlock();
    if (!lifted && !std::exchange(has_low_priority, true)) takeLowPriority();
    const int64_t start = nowOf(CLOCK_THREAD_CPUTIME_ID);
    const bool is_done = perform(*job);
    if (is_done) job->entry.clear();  // may free code, which is done without the lock
    const int64_t cost = nowOf(CLOCK_THREAD_CPUTIME_ID) - start;
    lock.lock();
    if (lifted)
      queue.lifted += cost;
    else
      queue.budget.spend(job->step, cost);
    if (!is_done) queue.requests.pushBack(std::move(*job));
    queue.busy = false;
    if (queue.requests.empty()) queue.changed.notify_all();
  }
}

bool Compiler::isLifted(const Queue& queue) const { return queue.waiters > 0 || budget() >= 100; }

/// Nothing: `pause` says for how many nanoseconds.
std::optional<RequestQueue::Job> Compiler::take(Queue& queue, bool may_be_stored, int64_t& pause) {
  queue.budget.setPercent(budget());
  if (provider() != nullptr) queue.budget.loaded();
  const int64_t used = nowOf(CLOCK_PROCESS_CPUTIME_ID);
  int64_t due = Budget::kNever;
  auto job = queue.requests.take({queue.budget, used, isLifted(queue), may_be_stored}, due);
  if (!job) pause = due == Budget::kNever ? kNotWaiting : pauseFor(due - used);
  return job;
}

/// Nothing: the program ends. Looks after what is to be done in between.
std::optional<RequestQueue::Job> Compiler::waitForJob(Queue& queue, Lock& lock) {
  const int64_t since = nowOf(CLOCK_MONOTONIC);
  bool has_caches = true;
  int64_t reported = since;
  while (true) {
    lock.unlock();
    const bool may_be_stored = mayBeStored();
    const int64_t now = nowOf(CLOCK_MONOTONIC);
    if (has_caches && now - since >= kKeepsCaches) {
      has_caches = false;
      dropCaches();
    }
    if (report::wantedMeanwhile() && now - reported >= kReports) {
      reported = now;
      report::write();
    }
    lock.lock();
    if (!has_caches) queue.budget.cooledDown();
    if (queue.stopping) return std::nullopt;
    int64_t pause = kNotWaiting;
    if (auto job = take(queue, may_be_stored, pause)) return job;
    if (has_caches) pause = std::min(pause, since + kKeepsCaches - now);
    if (report::wantedMeanwhile()) pause = std::min(pause, reported + kReports - now);
    if (pause == kNotWaiting)
      queue.changed.wait(lock);
    else
      queue.changed.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(pause, 0)));
  }
}

/// Whether the disk cache may have something; an empty directory is no reason to load LLVM.
bool Compiler::mayBeStored() const noexcept try {
  const std::string directory = cache_directory();
  if (directory.empty()) return false;
  if (provider() != nullptr) return true;
  std::error_code error;
  return std::filesystem::directory_iterator(directory, error) != std::filesystem::directory_iterator();
} catch (const std::exception&) {  // no memory
  return false;
}

/// Not where a SYNC caller compiles.
void Compiler::dropCaches() noexcept {
  const std::unique_lock lock(compile_mutex_, std::try_to_lock);
  if (lock.owns_lock() && provider() != nullptr) provider()->dropCaches();
}

/// False: it was looked for, and is to be compiled.
bool Compiler::perform(RequestQueue::Job& job) noexcept {
  const bool only_look = job.step == Step::kLook;
  if (auto* request = std::get_if<CompileRequest>(&job.work())) {
    request->only_load = only_look;
    return compileNow(*request);
  }
  FusedLoop& loop = *std::get<std::shared_ptr<FusedLoop>>(job.work());
  if (only_look) return FusedLoops::instance().finished(loop, Wanted::kStored, attempt(loop, Wanted::kStored));
  compileNow(loop);
  return true;
}

bool Compiler::compileNow(const CompileRequest& request) noexcept {
  const PairKey key{request.op, request.keys, request.signature};
  const OpState* state = request.op->state().load(std::memory_order_acquire);
  CompileResult result;
  if (closed_.load(std::memory_order_relaxed)) {
    result = refusal(kClosed);
  } else {
    std::lock_guard lock(compile_mutex_);
    Provider* provider = load();
    if (provider == nullptr)
      result = refusal(kNoLibrary);
    else if (!enabled())
      result.verdict = Verdict::kOutdated;
    else
      result = compileCached(*provider, request);
  }
  logCompile(key, result);
  if (result.absent) {
    if (result.cache == CacheAnswer::kRejected) Pairs::instance().cacheRejected();
    return false;
  }
  if (Pairs::instance().finished(request, state, result)) retireThunkOf(key);
  return true;
}

void Compiler::compileNow(FusedLoop& loop) noexcept {
  FusedLoops& loops = FusedLoops::instance();
  Wanted wanted;
  do wanted = loops.wantedOf(loop);
  while (!loops.finished(loop, wanted, attempt(loop, wanted)));
}

FusedResult Compiler::attempt(FusedLoop& loop, Wanted wanted) noexcept {
  FusedResult result;
  if (closed_.load(std::memory_order_relaxed)) {
    result.verdict = Verdict::kRefused;
    result.reason = kClosed;
  } else {
    std::lock_guard lock(compile_mutex_);
    Provider* provider = load();
    if (provider != nullptr && enabled())
      result = compileCached(*provider, loop.spec(), wanted);
    else
      result.verdict = provider == nullptr ? Verdict::kRefused : Verdict::kOutdated;
    if (provider == nullptr) result.reason = kNoLibrary;
  }
  return result;
}

PlanOutline Compiler::outline(const CompileRequest& request) {
  if (closed_.load(std::memory_order_relaxed)) return {{}, kClosed, ""};
  std::lock_guard lock(compile_mutex_);
  Provider* provider = load();
  return provider != nullptr ? provider->outline(request) : PlanOutline{{}, kNoLibrary, ""};
}

std::vector<CacheEntry> Compiler::cacheEntries(const std::string& directory) {
  std::lock_guard lock(compile_mutex_);
  return needProvider().cacheEntries(directory);
}

size_t Compiler::clearCache(const std::string& directory) {
  std::lock_guard lock(compile_mutex_);
  return needProvider().clearCache(directory);
}

std::string Compiler::llvmVersion() {
  if (closed_.load(std::memory_order_relaxed)) return "";
  std::lock_guard lock(compile_mutex_);
  const Provider* provider = load();
  return provider != nullptr ? provider->llvmVersion() : "";
}

Provider& Compiler::needProvider() {
  SHUNT_CHECK(!closed_.load(std::memory_order_relaxed), "the disk cache: ", kClosed);
  Provider* provider = load();
  SHUNT_CHECK(provider != nullptr, "the disk cache: ", kNoLibrary);
  return *provider;
}

Provider* Compiler::load() {
  if (tried_) return provider();
  tried_ = true;
  const std::string path = providerPath();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* make = library != nullptr ? reinterpret_cast<ProviderFn>(dlsym(library, "shunt_jit_provider")) : nullptr;
  Provider* made = make != nullptr ? make(kProviderVersion) : nullptr;
  if (made == nullptr) {
    const char* error = library == nullptr ? dlerror() : "it is of another version, or memory is short";
    shunt::detail::logWarning("the JIT is not available, everything is interpreted: " +
                              std::string(error != nullptr ? error : path));
    return nullptr;
  }
  provider_.store(made, std::memory_order_release);
  // stop() may have looked for it just before, and waits for this thread.
  const std::lock_guard lock(queue_->mutex);
  if (queue_->stopping) made->stop();
  return made;
}

void Compiler::stop() {
  Queue& queue = *queue_;
  {
    std::lock_guard lock(queue.mutex);
    queue.stopping = true;
    queue.changed.notify_all();
  }
  if (Provider* p = provider()) p->stop();
  if (queue.worker.joinable()) queue.worker.join();
}

void Compiler::waitIdle() {
  Queue& queue = *queue_;
  Lock lock(queue.mutex);
  ++queue.waiters;
  try {
    if (!queue.started && !queue.stopping && !queue.requests.empty()) start(queue);
    queue.changed.notify_all();
    queue.changed.wait(lock, [&] { return queue.stopping || (queue.requests.empty() && !queue.busy); });
  } catch (const std::exception& e) {
    cantStart(e);
  }
  --queue.waiters;
}

void Compiler::setBudget(double percent) {
  percent_.store(percent, std::memory_order_relaxed);
  Queue& queue = *queue_;
  const std::lock_guard lock(queue.mutex);
  if (!queue.started) check_at_.store(0, std::memory_order_relaxed);  // the next sample looks
  queue.changed.notify_all();
}

double Compiler::budget() const {
  if (switches().liftsBudget()) return 100;
  const double percent = percent_.load(std::memory_order_relaxed);
  return percent >= 0 ? percent : static_cast<double>(switches().budget);
}

bool Compiler::allows(int64_t nanoseconds) {
  Queue& queue = *queue_;
  const std::lock_guard lock(queue.mutex);
  queue.budget.setPercent(budget());
  return isLifted(queue) || queue.budget.dueAt(nanoseconds) <= nowOf(CLOCK_PROCESS_CPUTIME_ID);
}

void Compiler::spend(int64_t nanoseconds) {
  Queue& queue = *queue_;
  const std::lock_guard lock(queue.mutex);
  if (isLifted(queue))
    queue.lifted += nanoseconds;
  else
    queue.budget.spend(nanoseconds);
}

BudgetStats Compiler::budgetStats() {
  constexpr double kMillisecond = 1e6;
  Queue& queue = *queue_;
  const std::lock_guard lock(queue.mutex);
  return {budget(), static_cast<double>(nowOf(CLOCK_PROCESS_CPUTIME_ID)) / kMillisecond,
          static_cast<double>(queue.budget.spent()) / kMillisecond, static_cast<double>(queue.lifted) / kMillisecond,
          queue.requests.size() + queue.busy};
}

std::string Compiler::whyWaiting() {
  const BudgetStats s = budgetStats();
  if (s.percent >= 100 || s.waiting == 0) return "";
  return shunt::detail::str("'s budget: it may use ", s.percent, " % of the process's CPU time, which is ",
                            std::llround(s.process_ms), " ms so far, and has used ", std::llround(s.compiler_ms),
                            " ms; ", s.waiting, " wait (SHUNT_JIT_BUDGET, jit::wait_idle())");
}

}  // namespace shunt::jit
