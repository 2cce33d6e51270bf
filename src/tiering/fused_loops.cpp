#include "src/tiering/fused_loops.h"

#include "src/tiering/compiler.h"
#include "src/tiering/switches.h"

#include <shunt/core/fork.h>
#include <shunt/core/log.h>

namespace shunt::jit {
namespace {

constexpr int kMostFailures = 4;

class SpecHash {
 public:
  explicit SpecHash(const FusedLoopSpec& spec) {
    for (const FusedInput& in : spec.inputs) add(in.dtype, in.stride, in.constant.has_value(), in.constant.value_or(0));
    for (const FusedStep& step : spec.steps) {
      add(reinterpret_cast<uintptr_t>(step.body), step.library, step.common, step.result, step.first_scalar);
      for (const FusedOperand& o : step.operands) add(o.kind, o.index);
      for (const uint64_t c : step.constants) add(c);
    }
    for (const FusedOutput& out : spec.outputs) add(out.step, out.stride);
    add(spec.short_rows);
  }
  size_t value() const { return value_; }

 private:
  template <class... T>
  void add(T... values) {
    ((value_ = (value_ ^ static_cast<size_t>(values)) * 0x9e3779b97f4a7c15u, value_ ^= value_ >> 29), ...);
  }
  size_t value_ = 0;
};

void logResult(const FusedLoopSpec& spec, const FusedResult& r) noexcept try {
  using shunt::detail::str;
  const auto what = [&] { return str("a fused loop of ", spec.steps.size(), " steps"); };
  if (r.cache == CacheAnswer::kRejected)
    shunt::detail::log(shunt::LogLevel::kInfo,
                       str("the disk cache's code can't be used for ", what(), ": ", r.cache_problem));
  if (r.verdict == Verdict::kCompiled)
    shunt::detail::log(shunt::LogLevel::kInfo, str(r.cache == CacheAnswer::kLoaded ? "loaded " : "compiled ", what(),
                                                   ": ", r.times.total(), " ms, ", r.code->bytes, " bytes"));
  else if (r.verdict != Verdict::kOutdated)
    shunt::detail::log(shunt::LogLevel::kInfo, str("not compiled: ", what(), ": ", r.reason));
} catch (const std::exception&) {  // no memory for a line of log
}

/// False without memory for its name, too.
bool hasDiskCache() noexcept try { return !cache_directory().empty(); } catch (const std::exception&) {
  return false;
}

}  // namespace

FusedLoop::~FusedLoop() { FusedLoops::instance().remove(*this); }

FusedLoop::State FusedLoop::state() const {
  const std::lock_guard lock(FusedLoops::instance().mutex_);
  return state_;
}

std::string FusedLoop::name() const {
  const std::lock_guard lock(FusedLoops::instance().mutex_);
  return code_ != nullptr ? code_->name : "";
}

std::string FusedLoop::reason() const {
  const std::lock_guard lock(FusedLoops::instance().mutex_);
  return reason_;
}

FusedLoops& FusedLoops::instance() {
  static FusedLoops* const loops = new FusedLoops;  // never destroyed: static objects may hold loops
  return *loops;
}

FusedLoops::FusedLoops() {
  shunt::detail::holdAcrossFork(3, [] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); });
}
namespace {
[[maybe_unused]] const FusedLoops& made_at_load = FusedLoops::instance();
}  // namespace

std::shared_ptr<FusedLoop> FusedLoops::request(const FusedLoopSpec& spec, Wanted wanted, uint64_t runs) noexcept try {
  if (!enabled()) return nullptr;
  // Without a disk cache code is stored by those alone who have the loop already, as for other sizes.
  const bool may_make = wanted == Wanted::kCode || hasDiskCache();
  std::shared_ptr<FusedLoop> loop = may_make ? findOrMake(spec) : find(spec);
  if (loop != nullptr) ask(*loop, wanted, runs);
  return loop;
} catch (const std::exception&) {  // no memory: whoever asks goes on without it, and asks again
  return nullptr;
}

std::shared_ptr<FusedLoop> FusedLoops::findLocked(const FusedLoopSpec& spec) const {
  for (auto [at, end] = loops_.equal_range(SpecHash(spec).value()); at != end; ++at)
    if (at->second->spec() == spec)
      if (auto known = at->second->weak_from_this().lock()) return known;  // null: being destroyed
  return nullptr;
}

std::shared_ptr<FusedLoop> FusedLoops::find(const FusedLoopSpec& spec) const {
  const std::lock_guard lock(mutex_);
  return findLocked(spec);
}

std::shared_ptr<FusedLoop> FusedLoops::findOrMake(const FusedLoopSpec& spec) {
  auto made = std::make_shared<FusedLoop>(spec);  // outlives the lock: what is not needed removes itself
  const std::lock_guard lock(mutex_);
  if (auto known = findLocked(spec)) return known;
  loops_.emplace(SpecHash(spec).value(), made.get());
  ++stats_.asked;
  return made;
}

void FusedLoops::remove(FusedLoop& loop) {
  const std::lock_guard lock(mutex_);
  for (auto [at, end] = loops_.equal_range(SpecHash(loop.spec()).value()); at != end; ++at) {
    if (at->second != &loop) continue;
    loops_.erase(at);
    break;
  }
  if (loop.code_ == nullptr) return;
  --stats_.live;
  stats_.bytes -= loop.code_->bytes;
}

void FusedLoops::ask(FusedLoop& loop, Wanted wanted, uint64_t runs) noexcept {
  const bool may_be_stored = wanted == Wanted::kCode || hasDiskCache();  // which locks a mutex, too
  if (loop.runs_.load(std::memory_order_relaxed) < runs) loop.runs_.store(runs, std::memory_order_relaxed);
  Compiler::instance().pulse();
  {
    const std::lock_guard lock(mutex_);
    if (loop.state_ == FusedLoop::State::kQueued && wanted == Wanted::kCode) loop.is_code_wanted_ = true;
    if (loop.state_ != FusedLoop::State::kIdle || !enabled()) return;
    if (!may_be_stored && loop.code_ == nullptr) return;
    loop.is_code_wanted_ = wanted == Wanted::kCode;
    loop.state_ = loop.code_ != nullptr ? FusedLoop::State::kReady : FusedLoop::State::kQueued;
    if (loop.code_ != nullptr) return loop.function_.store(loop.code_->function, std::memory_order_release);
  }
  if (switches().sync) return Compiler::instance().compileNow(loop);
  if (Compiler::instance().submit(loop.shared_from_this())) return;
  const std::lock_guard lock(mutex_);
  loop.becomeIdle();
}

Wanted FusedLoops::wantedOf(const FusedLoop& loop) const noexcept {
  const std::lock_guard lock(mutex_);
  return loop.isCodeWanted() ? Wanted::kCode : Wanted::kStored;
}

bool FusedLoops::finished(FusedLoop& loop, Wanted wanted, FusedResult result) noexcept {
  logResult(loop.spec(), result);
  const std::lock_guard lock(mutex_);
  for (const CompilePhase& phase : kCompilePhases) stats_.times.*phase.ms += result.times.*phase.ms;
  stats_.cache_rejected += result.cache == CacheAnswer::kRejected;
  if (result.verdict == Verdict::kOutdated && wanted == Wanted::kStored && loop.is_code_wanted_) return false;
  loop.becomeIdle();
  loop.reason_ = std::move(result.reason);
  if (result.verdict == Verdict::kCompiled) {
    loop.code_ = std::move(result.code);
    ++(result.cache == CacheAnswer::kLoaded ? stats_.loaded : stats_.compiled);
    ++stats_.live;
    stats_.bytes += loop.code_->bytes;
    if (!enabled()) return true;  // withdrawAll() may have been here
    loop.state_ = FusedLoop::State::kReady;
    loop.function_.store(loop.code_->function, std::memory_order_release);
  } else if (result.verdict == Verdict::kRefused) {
    loop.state_ = FusedLoop::State::kRefused;
    ++stats_.refused;
  } else if (result.verdict == Verdict::kFailed && wanted == Wanted::kCode) {
    ++stats_.failed;
    if (++loop.failures_ >= kMostFailures) loop.state_ = FusedLoop::State::kRefused;
  }
  return true;
}

void FusedLoops::forgetQueue() {
  const std::lock_guard lock(mutex_);
  for (auto& [hash, loop] : loops_)
    if (loop->state_ == FusedLoop::State::kQueued) loop->becomeIdle();
}

void FusedLoops::withdrawAll() {
  const std::lock_guard lock(mutex_);
  for (auto& [hash, loop] : loops_) {
    if (loop->state_ != FusedLoop::State::kReady) continue;
    loop->function_.store(nullptr, std::memory_order_relaxed);
    loop->state_ = FusedLoop::State::kIdle;
  }
}

FusedStats FusedLoops::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace shunt::jit
