#include "src/jit/compiler.h"

#include "src/jit/pairs.h"
#include "src/jit/report.h"
#include "src/jit/switches.h"

#include <shunt/core/log.h>

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <filesystem>

namespace shunt::jit {
namespace {

/// libshunt_jit.so beside the library that this code is in.
std::string providerPath() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&providerPath), &info) == 0 || info.dli_fname == nullptr) return "libshunt_jit.so";
  std::error_code ignored;
  const auto here = std::filesystem::canonical(info.dli_fname, ignored).parent_path();
  return (here / "libshunt_jit.so").string();
}

/// What SHUNT_LOG=info and debug show of every compile.
void logCompile(const PairKey& key, const CompileResult& r) noexcept try {
  const auto pair = [&] {
    return shunt::detail::str(OperatorHandle(*key.op).operator_name(), " {", DispatchKeySet::fromRaw(key.keys), "} (", describeSignature(key.signature), ")");
  };
  using shunt::LogLevel;
  switch (r.verdict) {
    case Verdict::kCompiled:
      return shunt::detail::log(LogLevel::kInfo, shunt::detail::str("compiled ", pair(), ": ", r.times.total(), " ms, ", r.bytes, " bytes"));
    case Verdict::kRefused: return shunt::detail::log(LogLevel::kInfo, shunt::detail::str("not compiled: ", pair(), ": ", r.reason));
    case Verdict::kOutdated: return shunt::detail::log(LogLevel::kDebug, shunt::detail::str("outdated while compiled: ", pair()));
    case Verdict::kFailed: return shunt::detail::log(LogLevel::kInfo, shunt::detail::str("could not compile ", pair(), ": ", r.reason));
  }
} catch (const std::exception&) {  // no memory for a line of log
}

}  // namespace

Compiler& Compiler::instance() {
  static Compiler* const compiler = new Compiler;  // never destroyed
  return *compiler;
}

Compiler::Compiler() {
  std::atexit([] { instance().stop(); });
  pthread_atfork(nullptr, nullptr, [] { instance().closed_.store(true, std::memory_order_relaxed); });
}

bool Compiler::submit(const CompileRequest& request) noexcept try {
  if (closed_.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= kMaxQueued) return false;
  if (!started_) {
    worker_ = std::thread([this] { run(); });
    started_ = true;
  }
  queue_.push_back(request);
  changed_.notify_all();
  return true;
} catch (const std::exception& e) {
  // No thread or no memory: once is enough to say so, and nothing is tried again.
  if (!closed_.exchange(true)) shunt::detail::logWarning(std::string("the JIT is off: its thread can't start: ") + e.what());
  return false;
}

void Compiler::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto something = [&] { return stopping_ || !queue_.empty(); };
    while (!something()) {
      if (!report::wantedMeanwhile()) changed_.wait(lock, something);
      else if (!changed_.wait_for(lock, report::kInterval, something)) writeReport(lock);
    }
    if (stopping_) return;
    const CompileRequest request = queue_.front();
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    compileNow(request);
    lock.lock();
    busy_ = false;
    if (queue_.empty()) changed_.notify_all();
  }
}

void Compiler::writeReport(std::unique_lock<std::mutex>& lock) noexcept {
  lock.unlock();
  report::write();
  lock.lock();
}

void Compiler::compileNow(const CompileRequest& request) noexcept {
  const PairKey key{request.op, request.keys, request.signature};
  const OpState* state = request.op->state().load(std::memory_order_acquire);
  CompileResult result;
  if (closed_.load(std::memory_order_relaxed)) {
    result = {Verdict::kRefused, "a forked child compiles nothing", "", {}, 0};
  } else {
    std::lock_guard lock(compile_mutex_);
    Provider* provider = load();
    if (provider == nullptr) result = {Verdict::kRefused, "libshunt_jit.so is not available", "", {}, 0};
    else if (!enabled()) result.verdict = Verdict::kOutdated;
    else result = provider->compile(request);
  }
  logCompile(key, result);
  Pairs::instance().finished(key, state, result);
}

PlanOutline Compiler::outline(const CompileRequest& request) {
  if (closed_.load(std::memory_order_relaxed)) return {{}, "a forked child compiles nothing", ""};
  std::lock_guard lock(compile_mutex_);
  Provider* provider = load();
  return provider != nullptr ? provider->outline(request) : PlanOutline{{}, "libshunt_jit.so is not available", ""};
}

Provider* Compiler::load() {
  if (tried_) return provider();
  tried_ = true;
  const std::string path = providerPath();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* make = library != nullptr ? reinterpret_cast<ProviderFn>(dlsym(library, "shunt_jit_provider")) : nullptr;
  Provider* made = make != nullptr ? make(kProviderVersion) : nullptr;
  if (made == nullptr) {
    const char* error = library == nullptr ? dlerror() : "it is of another version";
    shunt::detail::logWarning("the JIT is not available, everything is interpreted: " + std::string(error != nullptr ? error : path));
    return nullptr;
  }
  provider_.store(made, std::memory_order_release);
  return made;
}

void Compiler::stop() {
  // The child has no worker, and the parent's may have held the lock at the fork.
  if (closed_.load(std::memory_order_relaxed)) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

void Compiler::waitIdle() {
  if (closed_.load(std::memory_order_relaxed)) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || (queue_.empty() && !busy_); });
}

}  // namespace shunt::jit
