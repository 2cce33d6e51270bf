#include "jit/cache/cache_key.h"

#include "jit/host/build_id.h"
#include "jit/host/host_symbols.h"
#include "jit/host/host_target.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>

#include <cstddef>

namespace shunt::jit {
namespace {

using shunt::detail::LoopRecord;

/// "name value value\n"
class Line {
 public:
  Line(std::string& out, const char* name) : out_(out) { out_ += name; }
  ~Line() { out_ += '\n'; }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Line& text(std::string_view value) {
    out_ += ' ';
    out_ += value;
    return *this;
  }
  Line& number(uint64_t value) { return text(llvm::utohexstr(value, /*LowerCase=*/true)); }

 private:
  std::string& out_;
};

std::string makeProcessKey() {
  const std::string host = buildIdAt(HostSymbols::instance().bitcode().data());
  const std::string compiler = buildIdAt(reinterpret_cast<const void*>(&makeProcessKey));
  if (host.empty() || compiler.empty()) return "";
  std::string key;
  Line(key, "libshunt").text(host);
  Line(key, "libshunt_jit").text(compiler);
  Line(key, "llvm").text(LLVM_VERSION_STRING);
  Line(key, "cpu").text(HostTarget::instance().features());
  Line(key, "vectors").text(std::to_string(HostTarget::instance().vectorWidth()));
  Line(key, "thread-locals").text(HostSymbols::instance().thread_locals());
  return key;
}

/// With a colon it is a name of this process (LibrarySymbols).
bool meansTheSame(const std::string& symbol) { return symbol.find(':') == symbol.npos; }

// A new member of the record belongs in the key, or is like `depth`: of no meaning to code.
static_assert(offsetof(LoopRecord, places) == 32 && sizeof(LoopRecord::Places) == 72);

constexpr const char* kNoBuildId = "libshunt or libshunt_jit has no build id";

llvm::Error unknown(const std::string& what) { return llvm::createStringError(what); }

llvm::Error addKind(std::string& key, const LoopRecord& r, const std::string& loop) {
  if (!meansTheSame(loop)) return unknown("the loop is of a library with bitcode of its own");
  {
    Line line(key, "expected");
    line.number(r.form).number(static_cast<uint64_t>(r.common)).number(r.output).number(r.functor);
    for (int i = 0; i < LoopRecord::kMaxInputs; ++i) line.number(r.kind[i]).number(r.signature[i]);
  }
  Line line(key, "loop");
  for (const void* place : {r.places.loop, r.places.ready, r.places.entry, r.places.expecting, r.places.miss,
                            r.places.placeholder, r.places.ready_placeholder, r.places.expected}) {
    const auto name = HostSymbols::instance().name(reinterpret_cast<uint64_t>(place));
    const std::string library = buildIdAt(place);
    if (place != nullptr && library.empty()) return unknown("the loop's library has no build id");
    line.text(library).text(name.value_or("-"));  // without a name the compiler doesn't find it either
  }
  return llvm::Error::success();
}

/// In the order of the guards. Nothing where nothing is expected.
llvm::Error addKinds(std::string& key, const Plan& plan) {
  if (plan.countsUnexpected()) {
    const auto& places = plan.request.kinds[0].places;
    for (const void* place : {places.entry, places.miss})
      Line(key, "unexpected").text(HostSymbols::instance().name(reinterpret_cast<uint64_t>(place)).value_or("-"));
  }
  for (size_t kind = 0; kind < plan.loops.size(); ++kind)
    if (!plan.loops[kind].empty())
      if (llvm::Error error = addKind(key, plan.request.kinds[kind], plan.loops[kind])) return error;
  return llvm::Error::success();
}

// A line for each fact, the lists in their order, so no two descriptions have the same text. Every member is named: a
// new one doesn't compile before it is in the key.
llvm::Error addFusedStep(std::string& key, const FusedStep& step) {
  const auto& [body, common, result, operands, first_scalar, constants, of_library] = step;
  if (of_library != 0) return unknown("a step's loop is of another library");
  const std::string library = buildIdAt(reinterpret_cast<const void*>(body));
  if (library.empty()) return unknown("the library of a step's loop has no build id");
  const auto symbol = HostSymbols::instance().name(reinterpret_cast<uint64_t>(body));
  if (!symbol) return unknown("a step's loop is of another library");
  Line(key, "step").text(toString(common)).text(toString(result)).text(library).text(*symbol);
  {
    Line line(key, "operands");
    for (const auto& [kind, index] : operands) line.number(kind).number(index);
  }
  Line(key, "scalars").number(first_scalar);
  Line line(key, "constants");
  for (const uint64_t bits : constants) line.number(bits);
  return llvm::Error::success();
}

std::string dtypesOf(const std::vector<FusedInput>& inputs) {
  std::string out;
  for (const FusedInput& i : inputs) out += (out.empty() ? "" : ", ") + std::string(toString(i.dtype));
  return out;
}

llvm::Error addChain(std::string& key, const Chain& chain) {
  Line(key, "operator").text(chain.op.name);
  Line(key, "keys").number(chain.keys.raw());
  for (const Step& step : chain.steps) {
    const std::string library = buildIdAt(step.entry.unboxed);
    if (library.empty()) return unknown("the library of a step of " + chain.op.name + " has no build id");
    if (!meansTheSame(step.symbol))
      return unknown("a step of " + chain.op.name + " is of a library with bitcode of its own");
    Line(key, "step")
        .number(static_cast<uint64_t>(step.key))
        .number(step.keys.raw())
        .number(static_cast<uint64_t>(step.entry.reason))
        .number(static_cast<uint64_t>(step.verdict))
        .text(library)
        .text(step.symbol);
  }
  Line(key, "below").text(chain.open ? "the host's table" : "planned");
  Line masks(key, "masks");
  for (DispatchKeySet mask : chain.op.masks) masks.number(mask.raw());
  return llvm::Error::success();
}

}  // namespace

const std::string& processKey() {
  HostTarget::instance();  // LLVM's part, where a fatal error may jump: not out of a static object's initialiser
  static const std::string& key = *new std::string(makeProcessKey());
  return key;
}

llvm::Expected<std::string> codeKey(const Plan& plan, const PlanSymbols& symbols) {
  std::string key;
  if (llvm::Error error = addChain(key, plan)) return std::move(error);
  if (llvm::Error error = addKinds(key, plan)) return std::move(error);
  Line(key, "tier").number(static_cast<uint64_t>(plan.request.tier));
  for (const Chain& chain : plan.inner)
    if (llvm::Error error = addChain(key, chain)) return std::move(error);
  Line(key, "places").text(symbols.print());
  return key;
}

llvm::Expected<std::string> cacheKey(const Plan& plan, const PlanSymbols& symbols) {
  auto code = codeKey(plan, symbols);
  return code ? cacheKey(plan, *code) : std::move(code);
}

llvm::Expected<std::string> cacheKey(const Plan& plan, const std::string& code_key) {
  const std::string& process = processKey();
  if (process.empty()) return unknown(kNoBuildId);
  std::string key = process + code_key;
  Line(key, "signature").number(plan.request.signature);
  return key;
}

llvm::Expected<std::string> cacheKey(const FusedLoopSpec& spec) {
  const auto& [inputs, steps, outputs, short_rows] = spec;
  std::string key = processKey();
  if (key.empty()) return unknown(kNoBuildId);
  Line(key, "fused").text(std::to_string(steps.size()));
  Line(key, "inputs").text(dtypesOf(inputs));
  for (const auto& [dtype, stride, constant] : inputs) {
    Line line(key, "input");
    line.number(static_cast<uint64_t>(stride));
    if (constant) line.number(*constant);
  }
  for (const FusedStep& step : steps)
    if (llvm::Error error = addFusedStep(key, step)) return std::move(error);
  for (const auto& [step, stride] : outputs) Line(key, "output").number(step).number(static_cast<uint64_t>(stride));
  Line(key, "rows").text(short_rows ? "short" : "long");
  return key;
}

std::string lineOf(const std::string& key, const std::string& name) {
  const size_t at = key.find("\n" + name + " ");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return key.substr(begin, key.find('\n', begin) - begin);
}

}  // namespace shunt::jit
