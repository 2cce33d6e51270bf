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

/// Calls that lead from an expecting function to the interpreter's.
constexpr const char* kGuardMiss = "shunt-guard-miss";

llvm::StringRef nameOf(const void* address) {
  const auto name = HostSymbols::instance().name(reinterpret_cast<uint64_t>(address));
  return name ? llvm::StringRef(*name) : llvm::StringRef();
}

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

/// The loop that is expected: its generic form, to be specialised.
llvm::Error putLoop(const Plan& plan, Extraction& extraction) {
  const auto& places = plan.request.record.places;
  llvm::Function* placeholder = extraction.module().getFunction(nameOf(places.placeholder));
  if (placeholder == nullptr) return llvm::Error::success();
  if (!extraction.has(plan.loop))
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the generic loop has no bitcode");
  auto body = extraction.import(plan.loop, Extraction::Inline::kAll);
  if (!body) return body.takeError();
  inlineWhole(**body, kInlineLate);
  (*body)->removeFnAttr(kInlineLate);
  (*body)->addFnAttr(llvm::Attribute::AlwaysInline);
  if (places.independent) markIndependent(**body);
  redirectCalls(*placeholder, **body);
  return llvm::Error::success();
}

}  // namespace

bool isGuardMiss(const llvm::CallBase& call) { return call.hasFnAttr(kGuardMiss); }

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
  const auto& record = plan.request.record;
  llvm::Function* entry = module.getFunction(nameOf(record.places.entry));
  if (entry == nullptr) return llvm::Error::success();
  auto expecting = extraction.import(nameOf(record.places.expecting));
  if (!expecting) return expecting.takeError();
  (*expecting)->addFnAttr(llvm::Attribute::AlwaysInline);
  for (llvm::Instruction& i : llvm::instructions(**expecting))
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&i); call != nullptr && call->getCalledFunction() != nullptr)
      if (call->getCalledFunction()->getName() == nameOf(record.places.miss))
        call->addFnAttr(llvm::Attribute::get(extraction.context(), kGuardMiss));
  redirectCalls(*entry, **expecting);
  if (auto e = putLoop(plan, extraction)) return e;
  llvm::GlobalVariable* expected = module.getNamedGlobal(nameOf(record.places.expected));
  if (expected == nullptr) return llvm::Error::success();
  const auto* bytes = reinterpret_cast<const std::byte*>(&record);
  Image image(extraction.context(), llvm::ArrayRef(bytes, offsetof(shunt::detail::LoopRecord, places)));
  llvm::Constant* value = image.finish();
  auto* constant = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "shunt.expected");
  constant->setAlignment(llvm::Align(8));
  expected->replaceAllUsesWith(constant);
  return llvm::Error::success();
}

}  // namespace shunt::jit
