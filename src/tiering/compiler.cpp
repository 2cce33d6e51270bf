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

#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace shunt::jit {
namespace {

// Programs get hot in bursts: a pause of that length is the end of one.
constexpr std::chrono::seconds kKeepsCaches{5};

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
CompileResult compileCached(Provider& provider, CompileRequest& request) noexcept try {
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
  Pairs::instance().forgetQueue();
  FusedLoops::instance().forgetQueue();
  fork_mutex_.unlock();
}

bool Compiler::submit(const CompileRequest& request, Waiting waiting) noexcept { return push(request, waiting); }

bool Compiler::submit(std::shared_ptr<FusedLoop> loop) noexcept { return push(std::move(loop)); }

template <class... Request>
bool Compiler::push(Request&&... request) noexcept try {
  if (closed_.load(std::memory_order_relaxed)) return false;
  Queue& queue = *queue_;
  std::lock_guard lock(queue.mutex);
  if (queue.stopping) return false;
  if (!queue.started) start(queue);
  if (!queue.requests.push(std::forward<Request>(request)...)) return false;
  queue.changed.notify_all();
  return true;
} catch (const std::bad_alloc&) {  // there may be memory when it is asked for again
  return false;
} catch (const std::exception& e) {
  // No thread: once is enough to say so, and nothing is tried again.
  if (!closed_.exchange(true))
    shunt::detail::logWarning(std::string("the JIT is off: its thread can't start: ") + e.what());
  return false;
}

void Compiler::start(Queue& queue) {
  [[maybe_unused]] static const int at_exit = std::atexit([] { instance().stop(); });
  const shunt::detail::NoSignals no_signals;
  queue.worker = std::thread([this, &queue] { run(queue); });
  queue.started = true;
}

void Compiler::run(Queue& queue) {
  std::unique_lock lock(queue.mutex);
  while (true) {
    waitForWork(queue, lock);
    if (queue.stopping) return;
    RequestQueue::Work work = queue.requests.pop();
    queue.busy = true;
    lock.unlock();
    compile(std::move(work));
    lock.lock();
    queue.busy = false;
    if (queue.requests.empty()) queue.changed.notify_all();
  }
}

void Compiler::waitForWork(Queue& queue, std::unique_lock<std::mutex>& lock) {
  const auto something = [&] { return queue.stopping || !queue.requests.empty(); };
  std::chrono::seconds idle{0};
  while (!something()) {
    const bool has_caches = idle < kKeepsCaches, reports = report::wantedMeanwhile();
    const auto interval = reports ? report::kInterval : kKeepsCaches;
    if (!has_caches && !reports) return queue.changed.wait(lock, something);
    if (queue.changed.wait_for(lock, interval, something)) return;
    idle += interval;
    lock.unlock();
    if (has_caches && idle >= kKeepsCaches) dropCaches();
    if (reports) report::write();
    lock.lock();
  }
}

/// Not where a SYNC caller compiles.
void Compiler::dropCaches() noexcept {
  const std::unique_lock lock(compile_mutex_, std::try_to_lock);
  if (lock.owns_lock() && provider() != nullptr) provider()->dropCaches();
}

// What was taken from the queue may be the last reference to a loop, whose code is freed here, where no lock is held.
void Compiler::compile(RequestQueue::Work work) noexcept {
  if (auto* request = std::get_if<CompileRequest>(&work))
    compileNow(std::move(*request));
  else
    compileNow(*std::get<std::shared_ptr<FusedLoop>>(work));
}

void Compiler::compileNow(CompileRequest request) noexcept {
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
  if (Pairs::instance().finished(request, state, result)) retireThunkOf(key);
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
  return made;
}

void Compiler::stop() {
  Queue& queue = *queue_;
  {
    std::lock_guard lock(queue.mutex);
    queue.stopping = true;
    queue.changed.notify_all();
  }
  if (queue.worker.joinable()) queue.worker.join();
}

void Compiler::waitIdle() {
  Queue& queue = *queue_;
  std::unique_lock lock(queue.mutex);
  queue.changed.wait(lock, [&] { return queue.stopping || (queue.requests.empty() && !queue.busy); });
}

}  // namespace shunt::jit
