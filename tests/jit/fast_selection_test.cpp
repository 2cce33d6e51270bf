// What code generation leaves out and prepares so that it is quick: that the names are this LLVM's, and that a function
// means the same afterwards.
#include "jit/passes/fast_selection.h"
#include "jit/emit/codegen_passes.h"
#include "jit/host/host_target.h"
#include "tests/jit/util.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ProfDataUtils.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <set>

namespace shunt::jit::test {
namespace {

class Names final : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass* pass) override {
    seen.insert(pass->getPassName().str());
    llvm::legacy::PassManager::add(pass);
  }
  std::set<std::string> seen;
};

// A name that LLVM has changed would leave its pass in, unnoticed.
TEST(CodegenPasses, WhatIsLeftOutIsThere) {
  llvm::SmallString<64> out;
  llvm::raw_svector_ostream stream(out);
  const auto machine = HostTarget::instance().makeCodegenMachine(llvm::CodeGenOptLevel::Default, /*fast=*/true);
  Names passes;
  ASSERT_FALSE(machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  for (const auto list : {passesLeftOut(), passesForLoops()})
    for (const llvm::StringRef name : list) EXPECT_TRUE(passes.seen.contains(name.str())) << name.str();
  EXPECT_TRUE(passes.seen.contains("Exception handling preparation"));
}

/// Goes by the name of one of LLVM's passes, and notes that it ran.
class Named final : public llvm::FunctionPass {
 public:
  Named(llvm::StringRef name, bool& ran) : FunctionPass(kId), name_(name), ran_(ran) {}
  llvm::StringRef getPassName() const override { return name_; }
  bool runOnFunction(llvm::Function&) override {
    ran_ = true;
    return false;
  }

 private:
  static char kId;
  const llvm::StringRef name_;
  bool& ran_;
};
char Named::kId = 0;

bool runs(Effort effort, llvm::StringRef name) {
  const TextModule one("define void @f() { ret void }");
  bool ran = false;
  CodegenPasses passes(effort);
  passes.add(new Named(name, ran));
  passes.run(*one.module);
  return ran;
}

TEST(CodegenPasses, LeavesOutWhatEachEffortDoesWithout) {
  for (const llvm::StringRef name : passesLeftOut()) {
    EXPECT_FALSE(runs(Effort::kLittle, name)) << name.str();
    EXPECT_FALSE(runs(Effort::kFull, name)) << name.str();
    EXPECT_TRUE(runs(Effort::kAll, name)) << name.str();
  }
  for (const llvm::StringRef name : passesForLoops()) {
    EXPECT_FALSE(runs(Effort::kLittle, name)) << name.str();
    EXPECT_TRUE(runs(Effort::kFull, name)) << name.str();
    EXPECT_TRUE(runs(Effort::kAll, name)) << name.str();
  }
  EXPECT_TRUE(runs(Effort::kLittle, "any other"));
}

// The preparation comes with the pass that it stands before; fused loops have none.
TEST(CodegenPasses, PreparesFastSelection) {
  for (const Effort effort : {Effort::kLittle, Effort::kFull, Effort::kAll}) {
    const TextModule m(R"(
      declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
      define void @f(ptr %a) {
        call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 16, i1 false)
        ret void
      })");
    bool ran = false;
    CodegenPasses passes(effort);
    passes.add(new Named("Exception handling preparation", ran));
    passes.run(*m.module);
    EXPECT_TRUE(ran);
    EXPECT_EQ(llvm::any_of(llvm::instructions(*m.module->getFunction("f")),
                           [](const llvm::Instruction& i) { return llvm::isa<llvm::StoreInst>(i); }),
              effort != Effort::kAll);
  }
}

struct Prepared : TextModule {
  explicit Prepared(const std::string& text, bool keep_loops = true) : TextModule(text), f(module->getFunction("f")) {
    prepareFastSelection(*f, keep_loops);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  }
  template <class T>
  int count() const {
    int found = 0;
    for (llvm::Instruction& i : llvm::instructions(*f)) found += llvm::isa<T>(i);
    return found;
  }
  using Stores = std::vector<std::pair<uint64_t, uint64_t>>;  // how many bytes, and how aligned
  Stores stores() const {
    Stores found;
    for (llvm::Instruction& i : llvm::instructions(*f))
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
        found.emplace_back(
            module->getDataLayout().getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue(),
            store->getAlign().value());
    return found;
  }
  llvm::Function* f;
};

TEST(FastSelection, UnwindsFromThePointerAlone) {
  const Prepared p(R"(
    declare void @g()
    declare i32 @__gxx_personality_v0(...)
    define void @f(i1 %c) personality ptr @__gxx_personality_v0 {
      invoke void @g() to label %next unwind label %first
    next:
      invoke void @g() to label %done unwind label %second
    first:
      %a = landingpad { ptr, i32 } cleanup
      br label %both
    second:
      %b = landingpad { ptr, i32 } cleanup
      br i1 %c, label %both, label %alone
    both:
      %e = phi { ptr, i32 } [ %a, %first ], [ %b, %second ]
      call void @g()
      resume { ptr, i32 } %e
    alone:
      %p = extractvalue { ptr, i32 } %b, 0
      %q = extractvalue { ptr, i32 } %b, 1
      %r = insertvalue { ptr, i32 } poison, ptr %p, 0
      %s = insertvalue { ptr, i32 } %r, i32 %q, 1
      resume { ptr, i32 } %s
    done:
      ret void
    })");
  EXPECT_EQ(p.count<llvm::ResumeInst>(), 0);
  EXPECT_EQ(p.count<llvm::LandingPadInst>(), 2);
  int calls = 0;
  for (llvm::Instruction& i : llvm::instructions(*p.f)) {
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&i)) EXPECT_TRUE(phi->getType()->isPointerTy());
    auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    if (call == nullptr || call->getCalledFunction()->getName() != "_Unwind_Resume") continue;
    ++calls;
    EXPECT_TRUE(llvm::isa<llvm::UnreachableInst>(call->getNextNode()));
  }
  EXPECT_EQ(calls, 1);
}

TEST(FastSelection, MarksTheBlocksOfLoopsAlone) {
  const Prepared p(R"(
    define void @f(ptr %p, i64 %n) {
    entry:
      %none = icmp eq i64 %n, 0
      br i1 %none, label %done, label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %q = getelementptr i64, ptr %p, i64 %i
      store i64 %i, ptr %q
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %done, !prof !0
    done:
      ret void
    }
    !0 = !{!"branch_weights", i32 100, i32 1})");
  EXPECT_TRUE(llvm::isa<llvm::BranchInst>(p.f->getEntryBlock().getTerminator()));
  ASSERT_EQ(p.count<llvm::SwitchInst>(), 1);
  for (llvm::Instruction& i : llvm::instructions(*p.f)) {
    auto* made = llvm::dyn_cast<llvm::SwitchInst>(&i);
    if (made == nullptr) continue;
    EXPECT_EQ(made->findCaseValue(llvm::ConstantInt::getTrue(*p.context))->getCaseSuccessor(), made->getParent());
    EXPECT_TRUE(llvm::isa<llvm::ReturnInst>(made->getDefaultDest()->getTerminator()));
    llvm::SmallVector<uint32_t> weights;
    ASSERT_TRUE(llvm::extractBranchWeights(*made, weights));
    EXPECT_EQ(weights[0], 1u);
    EXPECT_EQ(weights[1], 100u);
  }
}

TEST(FastSelection, MarksEveryBlockOfALoop) {
  const Prepared p(R"(
    define void @f(ptr %p, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %latch ]
      %q = getelementptr i64, ptr %p, i64 %i
      store i64 %i, ptr %q
      br label %latch
    latch:
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %done
    done:
      ret void
    })");
  EXPECT_TRUE(llvm::isa<llvm::BranchInst>(p.f->getEntryBlock().getTerminator()));
  EXPECT_EQ(p.count<llvm::SwitchInst>(), 2);
  const auto* loop = llvm::dyn_cast<llvm::SwitchInst>(p.f->getEntryBlock().getSingleSuccessor()->getTerminator());
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->getNumCases(), 0u);
  EXPECT_TRUE(llvm::isa<llvm::SwitchInst>(loop->getDefaultDest()->getTerminator()));
}

TEST(FastSelection, StoresSmallAreas) {
  const Prepared p(R"(
    declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
    declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
    define void @f(ptr %a, ptr %b, i64 %n) {
      call void @llvm.memset.p0.i64(ptr align 16 %a, i8 0, i64 39, i1 false)
      call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr align 8 %b, i64 24, i1 false)
      call void @llvm.memset.p0.i64(ptr %a, i8 1, i64 8, i1 false)
      call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 129, i1 false)
      call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 8, i1 true)
      call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)
      ret void
    })");
  EXPECT_EQ(p.count<llvm::MemIntrinsic>(), 4) << "another value, too much, volatile and an unknown length stay";
  const Prepared::Stores expected = {{8, 16}, {8, 8}, {8, 16}, {8, 8}, {4, 16}, {2, 4}, {1, 2}, {16, 1}, {8, 1}};
  EXPECT_EQ(p.stores(), expected);
}

TEST(FastSelection, StoresZerosOfVectorsInParts) {
  const Prepared p(R"(
    define void @f(ptr %a) {
      store <3 x i64> zeroinitializer, ptr %a, align 16
      store <2 x float> zeroinitializer, ptr %a, align 4
      store <2 x i64> <i64 0, i64 1>, ptr %a, align 16
      store volatile <2 x i64> zeroinitializer, ptr %a, align 16
      ret void
    })");
  const Prepared::Stores expected = {{8, 16}, {8, 8}, {8, 16}, {8, 4}, {16, 16}, {16, 16}};
  EXPECT_EQ(p.stores(), expected);
}

TEST(FastSelection, SetsInvokesApart) {
  const Prepared p(R"(
    declare void @g(i64)
    declare i32 @__gxx_personality_v0(...)
    define i64 @f(ptr %a, i1 %c) personality ptr @__gxx_personality_v0 {
    entry:
      %v = load i64, ptr %a
      br i1 %c, label %one, label %two
    one:
      %w = add i64 %v, 1
      invoke void @g(i64 %w) to label %done unwind label %caught
    two:
      invoke void @g(i64 %v) to label %done unwind label %caught
    done:
      %r = phi i64 [ %w, %one ], [ %v, %two ]
      ret i64 %r
    caught:
      %e = landingpad { ptr, i32 } cleanup
      unreachable
    })");
  EXPECT_EQ(p.count<llvm::InvokeInst>(), 2);
  for (llvm::Instruction& i : llvm::instructions(*p.f))
    if (llvm::isa<llvm::InvokeInst>(i)) EXPECT_EQ(&i, &i.getParent()->front());
  EXPECT_EQ(p.f->size(), 6u) << "one block more, for the one that wasn't alone";
}

TEST(FastSelection, LeavesLoopsWhereNothingIsGainedByTheOther) {
  const Prepared p(R"(
    define void @f(i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %done
    done:
      ret void
    })",
                   /*keep_loops=*/false);
  EXPECT_EQ(p.count<llvm::SwitchInst>(), 0);
}

TEST(FastSelection, CodeOfALoopComputesTheSame) {
  const std::unique_ptr<llvm::MemoryBuffer> object = compileText(R"(
    define i64 @f(ptr %p, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
      %q = getelementptr i64, ptr %p, i64 %i
      %v = load i64, ptr %q
      %more = add i64 %sum, %v
      %next = add i64 %i, 1
      %end = icmp eq i64 %next, %n
      br i1 %end, label %done, label %loop
    done:
      ret i64 %more
    })");
  const LinkedCode code = must(link(copyOf(*object)));
  const int64_t values[] = {1, 20, 300};
  EXPECT_EQ(reinterpret_cast<int64_t (*)(const int64_t*, int64_t)>(code.address("f"))(values, 3), 321);
}

}  // namespace
}  // namespace shunt::jit::test
