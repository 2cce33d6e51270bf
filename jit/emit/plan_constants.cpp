#include "jit/emit/plan_constants.h"

#include "jit/emit/flatten.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>

#include <cstddef>

namespace shunt::jit {
namespace {

/// A packed constant made of raw bytes with pointers at some offsets.
class Image {
 public:
  Image(llvm::LLVMContext& context, llvm::ArrayRef<std::byte> bytes) : context_(context), bytes_(bytes) {}

  /// Pointers are put in ascending order of their offsets.
  void put(size_t offset, llvm::Constant* pointer) {
    flush(offset);
    fields_.push_back(pointer);
    at_ = offset + sizeof(void*);
  }
  llvm::Constant* finish() {
    flush(bytes_.size());
    return llvm::ConstantStruct::getAnon(context_, fields_, /*Packed=*/true);
  }

 private:
  void flush(size_t to) {
    if (to == at_) return;
    const auto* first = reinterpret_cast<const uint8_t*>(bytes_.data()) + at_;
    fields_.push_back(llvm::ConstantDataArray::get(context_, llvm::ArrayRef<uint8_t>(first, to - at_)));
    at_ = to;
  }

  llvm::LLVMContext& context_;
  llvm::ArrayRef<std::byte> bytes_;
  std::vector<llvm::Constant*> fields_;
  size_t at_ = 0;
};

llvm::Constant* pointerTo(llvm::LLVMContext& context, const void* address) {
  return llvm::ConstantExpr::getIntToPtr(llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), reinterpret_cast<uint64_t>(address)),
                                         llvm::PointerType::getUnqual(context));
}

/// The entries that a thunk may put in the place of the interpreter's, as templates on the number of inputs: for dense operands
/// and for operands by their strides (elementwise/expected.h).
struct Replacement {
  const char* entry;
  const char* dense;
  const char* strided;
  const char* signature;
};
constexpr Replacement kElementwise[] = {
    {"_ZN5shunt11elementwise13runFunctionalERKNS0_7RequestE", "_ZN5shunt11elementwise18functionalExpectedILi",
     "_ZN5shunt11elementwise17functionalStridedILi", "EEENS_6TensorERKNS0_7RequestE"},
    {"_ZN5shunt11elementwise13runOutRequestERKNS0_7RequestERNS_6TensorE", "_ZN5shunt11elementwise11outExpectedILi",
     "_ZN5shunt11elementwise10outStridedILi", "EEEvRKNS0_7RequestERNS_6TensorE"},
    {"_ZN5shunt11elementwise17runInplaceRequestERKNS0_7RequestERNS_6TensorE", "_ZN5shunt11elementwise15inplaceExpectedILi",
     "_ZN5shunt11elementwise14inplaceStridedILi", "EEEvRKNS0_7RequestERNS_6TensorE"},
};
constexpr const char* kExecutePlan = "_ZN5shunt11elementwise4Plan7executeEv";

std::string expectingForm(const Replacement& r, const shunt::detail::ElementwiseRecord& record) {
  constexpr uint8_t kFirstStride = 6;  // elementwise/expected.h: isStride
  int inputs = 0;
  bool strided = false;
  for (uint8_t kind : record.kind) {
    inputs += kind != shunt::detail::ElementwiseRecord::kNone;
    strided |= kind >= kFirstStride;
  }
  return (strided ? r.strided : r.dense) + std::to_string(inputs) + r.signature;
}

constexpr const char* kExpectedLoopPrefix = "_ZN5shunt11elementwise12expectedLoopE";
constexpr const char* kExpectedName = "_ZN5shunt11elementwise9kExpectedE";

void redirectCalls(llvm::Function& from, llvm::Function& to) {
  for (llvm::Use& use : llvm::make_early_inc_range(from.uses())) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    if (call == nullptr || !call->isCallee(&use) || call->getFunction() == &to) continue;
    call->setCalledFunction(&to);
  }
}

llvm::Constant* makeSnapshot(const Plan& plan, Extraction& extraction, llvm::StringRef name) {
  llvm::Module& module = extraction.module();
  llvm::LLVMContext& context = extraction.context();
  Image image(context, plan.op.image);
  image.put(0, pointerTo(context, plan.op.op));  // an OpState begins with its operator
  for (size_t slot = 0; slot < plan.op.table.size(); ++slot) {
    const TableEntry& e = plan.op.table[slot];
    const size_t at = plan.op.table_offset + slot * sizeof(TableEntry);
    llvm::Constant* code = pointerTo(context, e.unboxed);
    // Not the top one: it is not reached from below, and a function whose address is taken keeps its arguments variable.
    for (const Step& step : llvm::ArrayRef(plan.steps).drop_front())
      if (step.verdict == StepVerdict::kInline && step.entry.unboxed == e.unboxed) code = module.getFunction(step.symbol);
    image.put(at + offsetof(TableEntry, unboxed), code);
    image.put(at + offsetof(TableEntry, boxed), pointerTo(context, reinterpret_cast<const void*>(e.boxed)));
    image.put(at + offsetof(TableEntry, functor), pointerTo(context, e.functor));
  }
  llvm::Constant* value = image.finish();
  auto* global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, value, name);
  global->setAlignment(llvm::Align(8));
  return global;
}

/// Elements are independent, and an output is one of the inputs exactly or not at all (expected.h): no run-time checks for
/// overlap. One vector at a time: interleaved ones would leave short tensors to the scalar tail.
void markIndependent(llvm::Function& f) {
  llvm::LLVMContext& context = f.getContext();
  llvm::DominatorTree dominators(f);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::MDNode* group = llvm::MDNode::getDistinct(context, {});
    for (llvm::BasicBlock* block : loop->blocks())
      for (llvm::Instruction& i : *block)
        if (i.mayReadOrWriteMemory()) i.setMetadata(llvm::LLVMContext::MD_access_group, group);
    const auto property = [&](llvm::StringRef name, llvm::Metadata* value) {
      return llvm::MDNode::get(context, {llvm::MDString::get(context, name), value});
    };
    auto* one = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
    llvm::MDNode* id = llvm::MDNode::getDistinct(
        context, {nullptr, property("llvm.loop.parallel_accesses", group), property("llvm.loop.interleave.count", one)});
    id->replaceOperandWith(0, id);
    loop->setLoopID(id);
  }
}

/// The function and all that came with it are one loop. What it calls is inlined late, when the dtypes have become constants
/// and most of a cast's cases don't even have to be copied.
/// What can't throw is marked so: a call that could becomes an invoke, which would lose its mark of independence.
void inlineWhole(llvm::Function& f, llvm::StringRef how) {
  if (f.isDeclaration() || f.hasFnAttribute(llvm::Attribute::NoInline) || f.hasFnAttribute(llvm::Attribute::Cold)) return;
  if (f.hasFnAttribute(how)) return;
  f.addFnAttr(how);
  bool throws = false;
  for (llvm::Instruction& i : llvm::instructions(f)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    if (call != nullptr && call->getCalledFunction() != nullptr) inlineWhole(*call->getCalledFunction(), how);
    throws |= i.mayThrow();
  }
  if (!throws) f.setDoesNotThrow();
}

/// The loop that the recorded functor is expected to run in: its generic loop, to be specialised.
llvm::Error putLoop(const Plan& plan, Extraction& extraction) {
  llvm::Function* placeholder = nullptr;
  for (llvm::Function* f : extraction.declarations())
    if (f->getName().starts_with(kExpectedLoopPrefix)) placeholder = f;
  if (placeholder == nullptr) return llvm::Error::success();
  const std::string& loop = plan.loop;
  if (!Library::host().has(loop))
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the functor's generic loop has no bitcode");
  auto body = extraction.import(loop, Extraction::Inline::kAll);
  if (!body) return body.takeError();
  inlineWhole(**body, kInlineLate);
  (*body)->removeFnAttr(kInlineLate);
  (*body)->addFnAttr(llvm::Attribute::AlwaysInline);
  markIndependent(**body);
  redirectCalls(*placeholder, **body);
  return llvm::Error::success();
}

}  // namespace

bool isGuardMiss(const llvm::CallBase& call) {
  const llvm::Function* to = call.getCalledFunction();
  const llvm::StringRef in = call.getFunction()->getName();
  return to != nullptr && llvm::any_of(kElementwise, [&](const Replacement& r) {
    return (to->getName() == r.entry && in.starts_with(r.dense)) || (to->getName() == kExecutePlan && in.starts_with(r.strided));
  });
}

llvm::Error putPlannedRedispatch(const Plan& plan, Extraction& extraction, llvm::StringRef name) {
  if (plan.open) return llvm::Error::success();
  // shunt::ops::X::symbol, next to X's entry points.
  const auto symbol = HostSymbols::instance().name(reinterpret_cast<uint64_t>(plan.op.op));
  llvm::StringRef prefix = symbol ? llvm::StringRef(*symbol) : llvm::StringRef();
  if (!prefix.consume_back("6symbolE")) return llvm::Error::success();  // not of the dictionary: it looks up as always
  for (llvm::Function* f : extraction.declarations()) {
    llvm::StringRef rest = f->getName();
    if (!rest.consume_front(prefix) || !rest.consume_front("10redispatchE")) continue;
    auto planned = extraction.import((prefix + "17redispatchPlannedE" + rest).str());
    if (!planned) return planned.takeError();
    (*planned)->addFnAttr(llvm::Attribute::AlwaysInline);
    redirectCalls(*f, **planned);
  }
  if (llvm::Function* state = extraction.module().getFunction("_ZN5shunt6detail12plannedStateEv")) {
    llvm::Constant* snapshot = makeSnapshot(plan, extraction, name);
    for (llvm::User* user : llvm::make_early_inc_range(state->users())) {
      auto* call = llvm::cast<llvm::CallBase>(user);
      call->replaceAllUsesWith(snapshot);
      if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(call)) llvm::changeToCall(invoke)->eraseFromParent();
      else call->eraseFromParent();
    }
  }
  return llvm::Error::success();
}

llvm::Error putExpectedOperands(const Plan& plan, Extraction& extraction) {
  if (plan.loop.empty()) return llvm::Error::success();
  llvm::Module& module = extraction.module();
  for (const Replacement& r : kElementwise) {
    if (module.getFunction(r.entry) == nullptr) continue;
    auto expecting = extraction.import(expectingForm(r, plan.request.record));
    if (!expecting) return expecting.takeError();
    (*expecting)->addFnAttr(llvm::Attribute::AlwaysInline);
    redirectCalls(*module.getFunction(r.entry), **expecting);
  }
  if (auto e = putLoop(plan, extraction)) return e;
  llvm::GlobalVariable* expected = module.getNamedGlobal(kExpectedName);
  if (expected == nullptr) return llvm::Error::success();
  const auto* bytes = reinterpret_cast<const std::byte*>(&plan.request.record);
  Image image(extraction.context(), llvm::ArrayRef(bytes, sizeof plan.request.record));
  llvm::Constant* value = image.finish();
  auto* constant = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "shunt.expected");
  constant->setAlignment(llvm::Align(8));
  expected->replaceAllUsesWith(constant);
  return llvm::Error::success();
}

}  // namespace shunt::jit
