#include "jit/compile_fused.h"

#include "jit/debug/gdb_object.h"
#include "jit/debug/perf_map.h"
#include "jit/emit/dump.h"
#include "jit/emit/optimise.h"
#include "jit/fuse/fused_module.h"
#include "jit/host/debug_switches.h"
#include "jit/host/stopwatch.h"

namespace shunt::jit {
namespace {

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
    addToPerfMap(*linked, name);
    made->linked_ = std::move(*linked);
    if (gdbWanted()) made->gdb_ = GdbObject(copy, sections);
    return made;
  }

 private:
  LinkedCode linked_;
  GdbObject gdb_;
};

/// For perf, gdb and dumps: "shunt:fused.7", the seventh that this process has built.
std::string nextName() {
  static std::atomic<int> built{0};
  return "shunt:fused." + std::to_string(++built);
}

/// An error: of the compiler, not of the region.
llvm::Error finish(llvm::Module& module, const Dump& dump, const std::string& name, FusedResult& result,
                   Stopwatch& watch) {
  auto effort = optimise(module, nullptr, Tier::kSecond, Effort::kAll);
  if (!effort) return effort.takeError();
  watch.lap(result.times.optimise);
  dump.module(module, "after");
  dump.assembly(module, *effort);
  module.getFunction(kFusedName)->setName(name);
  auto object = generate(module, *effort);
  if (!object) return object.takeError();
  watch.lap(result.times.generate);
  auto code = LinkedFusedLoop::make(std::move(*object), name);
  if (!code) return code.takeError();
  watch.lap(result.times.link);
  result.code = std::move(*code);
  result.verdict = Verdict::kCompiled;
  return llvm::Error::success();
}

}  // namespace

void compileFused(const FusedLoopSpec& spec, SourceCache& sources, FusedResult& result) {
  Stopwatch watch;
  Extraction extraction(sources);
  if (auto e = buildFusedLoop(spec, extraction)) {
    result.verdict = Verdict::kRefused;
    result.reason = llvm::toString(std::move(e));
    return;
  }
  watch.lap(result.times.extract);
  const std::string name = nextName();
  const Dump dump(name.substr(name.find(':') + 1), "a fused loop of " + std::to_string(spec.steps.size()) + " steps\n");
  dump.module(extraction.module(), "before");
  if (auto e = finish(extraction.module(), dump, name, result, watch)) {
    result.verdict = e.isA<FatalLinkError>() ? Verdict::kRefused : Verdict::kFailed;
    result.reason = llvm::toString(std::move(e));
  }
}

}  // namespace shunt::jit
