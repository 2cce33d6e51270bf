#include "jit/compile_fused.h"

#include "jit/cache/cache_key.h"
#include "jit/cache/process_addresses.h"
#include "jit/debug/gdb_object.h"
#include "jit/debug/perf_map.h"
#include "jit/emit/dump.h"
#include "jit/emit/optimise.h"
#include "jit/fuse/fused_module.h"
#include "jit/host/debug_switches.h"
#include "jit/host/stopping.h"

#include <shunt/core/error.h>
#include <shunt/core/log.h>

namespace shunt::jit {
namespace {

std::string shortName(const std::string& name) { return name.substr(name.find(':') + 1); }

class LinkedFusedLoop final : public FusedCode {
 public:
  static llvm::Expected<std::unique_ptr<FusedCode>> make(std::unique_ptr<llvm::MemoryBuffer> object,
                                                         const std::string& name) {
    const std::string copy = gdbWanted() ? object->getBuffer().str() : std::string();
    SectionAddresses sections;
    auto linked = link(std::move(object), gdbWanted() ? &sections : nullptr);
    if (!linked) return linked.takeError();
    auto made = std::make_unique<LinkedFusedLoop>();
    made->function = reinterpret_cast<FusedLoopFn>(linked->address(name));
    if (made->function == nullptr) return llvm::createStringError("the object has no function %s", name.c_str());
    made->bytes = linked->bytes();
    made->name = shortName(name);
    addToPerfMap(*linked, name);
    made->linked_ = std::move(*linked);
    if (gdbWanted()) made->gdb_ = GdbObject(copy, sections);
    return made;
  }

 private:
  LinkedCode linked_;
  GdbObject gdb_;
};

/// "shunt:fused.7", the seventh that this process has built. One that the disk cache may have is named after its file:
/// what is in an object must not depend on the process.
std::string nameOf(const std::string& key) {
  static std::atomic<int> built{0};
  constexpr size_t kMuchOfHash = 12;
  return "shunt:fused." + (key.empty() ? std::to_string(++built) : cacheFileName(key).substr(0, kMuchOfHash));
}

}  // namespace

FusedCompile::FusedCompile(const FusedRequest& request, ThunkCache& cache, FusedResult& result)
    : request_(request), cache_(cache), result_(result), key_(keyOf()) {}

std::string FusedCompile::keyOf() const {
  if (request_.cache.empty() || Dump::wanted()) return "";
  auto key = cacheKey(request_.spec);
  if (key) return std::move(*key);
  logNotKept(llvm::toString(key.takeError()));
  return "";
}

void FusedCompile::logNotKept(const std::string& why) const {
  shunt::detail::log(LogLevel::kDebug, shunt::detail::str("not kept in the disk cache: a fused loop of ",
                                                          request_.spec.steps.size(), " steps: ", why));
}

bool FusedCompile::load() {
  if (key_.empty()) return false;
  ThunkCache::Found found = cache_.find(request_.cache, key_);
  result_.cache = found.answer;
  result_.cache_problem = std::move(found.problem);
  watch_.lap(result_.times.cache);
  if (found.answer != CacheAnswer::kLoaded) return false;
  auto code = LinkedFusedLoop::make(llvm::MemoryBuffer::getMemBuffer(found.object.object, "", false), nameOf(key_));
  watch_.lap(result_.times.link);
  if (!code) {
    result_.cache = CacheAnswer::kRejected;
    result_.cache_problem = llvm::toString(code.takeError());
    return false;
  }
  result_.code = std::move(*code);
  result_.verdict = Verdict::kCompiled;
  return true;
}

void FusedCompile::compile(SourceCache& sources) {
  const Libraries libraries = Libraries::take();
  const SourceCache::Loan loan(sources, libraries);
  Extraction extraction(sources);
  if (auto e = buildFusedLoop(request_.spec, extraction, libraries)) {
    result_.verdict = Verdict::kRefused;
    result_.reason = llvm::toString(std::move(e));
    return;
  }
  watch_.lap(result_.times.extract);
  const std::string name = nameOf(key_);
  const Dump dump(shortName(name), "a fused loop of " + std::to_string(request_.spec.steps.size()) + " steps\n");
  dump.module(extraction.module(), "before");
  if (auto e = finish(extraction.module(), name, dump)) {
    result_.verdict = isStopping()              ? Verdict::kOutdated
                      : e.isA<FatalLinkError>() ? Verdict::kRefused
                                                : Verdict::kFailed;
    result_.reason = llvm::toString(std::move(e));
  }
}

/// An error: of the compiler, not of the region.
llvm::Error FusedCompile::finish(llvm::Module& module, const std::string& name, const Dump& dump) {
  auto effort = optimise(module, nullptr, Tier::kSecond, Effort::kAll);
  if (!effort) return effort.takeError();
  if (isStopping()) return llvm::createStringError(kStopped);
  watch_.lap(result_.times.optimise);
  dump.module(module, "after");
  dump.assembly(module, *effort);
  module.getFunction(kFusedName)->setName(name);
  std::optional<CachedObject> cached = portable(module);
  auto object = generate(module, *effort);
  if (!object) return object.takeError();
  watch_.lap(result_.times.generate);
  if (cached) cached->object = (*object)->getBuffer().str();
  auto code = LinkedFusedLoop::make(std::move(*object), name);
  if (!code) return code.takeError();
  watch_.lap(result_.times.link);
  if (cached) cache_.store(request_.cache, *cached);
  watch_.lap(result_.times.cache);
  result_.code = std::move(*code);
  result_.verdict = Verdict::kCompiled;
  return llvm::Error::success();
}

/// What goes with the object that another process can use, before the code generator takes the module to pieces;
/// nothing where it can't, or where nothing is kept.
std::optional<CachedObject> FusedCompile::portable(const llvm::Module& module) const {
  if (key_.empty()) return std::nullopt;
  if (!holdsProcessAddress(module))
    if (auto literals = literalsOf(module)) return CachedObject{key_, {}, std::move(*literals), "", false};
  logNotKept("its code depends on where this process has something");
  return std::nullopt;
}

}  // namespace shunt::jit
