// Fused loops against the chain of their steps' ahead-of-time loops, bit for bit.
#include "jit/emit/optimise.h"
#include "jit/fuse/fused_module.h"
#include "kernels/pointwise/descriptor.h"
#include "tests/jit/util.h"

#include <gtest/gtest.h>

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace shunt::jit::test {
namespace {

using elementwise::GenericLoopFn;
using elementwise::ScalarSlot;
using elementwise::View;
using Bytes = std::vector<std::byte>;

struct Functor {
  std::string name;
  const elementwise::KernelDescriptor* op;
  GenericLoopFn loop(ScalarType common) const { return (*op->generic_shard + op->row)[static_cast<size_t>(common)]; }
};

const std::vector<Functor>& functors() {
  static const std::vector<Functor> all = {
#define SHUNT_FUNCTOR(name, shard, index) {#name, &elementwise::kDescriptor<::shunt::functors::name>},
      SHUNT_FORALL_FUNCTORS(SHUNT_FUNCTOR)
#undef SHUNT_FUNCTOR
  };
  return all;
}

const Functor& functor(const std::string& name) { return *std::ranges::find(functors(), name, &Functor::name); }

struct Fused {
  LinkedCode code;
  bool vectorised = false;
  bool operator()(const FusedCall& call) const { return reinterpret_cast<FusedLoopFn>(code.address(kFusedName))(call); }
};

llvm::Expected<Fused> compile(const FusedLoopSpec& spec) {
  Extraction extraction(Library::host(), HostSymbols::instance());
  if (auto e = buildFusedLoop(spec, extraction)) return std::move(e);
  EXPECT_FALSE(llvm::verifyModule(extraction.module(), &llvm::errs()));
  auto effort = optimise(extraction.module());
  if (!effort) return effort.takeError();
  Fused fused;
  for (const llvm::Instruction& i : llvm::instructions(extraction.module().getFunction(kFusedName)))
    fused.vectorised |= i.getType()->isVectorTy() && llvm::isa<llvm::LoadInst>(i);
  auto object = generate(extraction.module(), *effort);
  if (!object) return object.takeError();
  auto code = link(std::move(*object));
  if (!code) return code.takeError();
  fused.code = std::move(*code);
  return fused;
}

constexpr int64_t kRows = 3, kInner = 203, kCount = kRows * kInner;

Bytes elements(ScalarType dtype, int seed) {
  Bytes out(static_cast<size_t>(kCount * elementSize(dtype)));
  const auto loop = functor("Copy").loop(dtype);
  for (int64_t i = 0; i < kCount; ++i) {
    float value = static_cast<float>((i * 7 + seed * 13) % 19 + 1) * (dtype == kFloat ? 0.37f : 1.0f);
    View from{reinterpret_cast<std::byte*>(&value), 4, kFloat};
    loop({out.data() + i * elementSize(dtype), elementSize(dtype), dtype}, &from, 1, nullptr, dtype);
  }
  return out;
}

/// The chain, each step over all elements into memory of its own.
std::vector<Bytes> chain(const FusedLoopSpec& spec, std::vector<Bytes>& inputs, const ScalarSlot* scalars,
                         bool& valid) {
  std::vector<Bytes> results;
  for (const FusedStep& step : spec.steps) {
    View views[elementwise::kMaxInputs];
    for (size_t k = 0; k < step.operands.size(); ++k) {
      const FusedOperand& from = step.operands[k];
      const bool is_step = from.kind == FusedOperand::kStep;
      const ScalarType dtype = is_step ? spec.steps[from.index].result : spec.inputs[from.index].dtype;
      views[k] = {(is_step ? results : inputs)[from.index].data(),
                  !is_step && spec.inputs[from.index].stride == FusedStride::kZero ? 0 : elementSize(dtype), dtype};
    }
    Bytes out(static_cast<size_t>(kCount * elementSize(step.result)));
    ScalarSlot constants[elementwise::kMaxScalars] = {};
    if (!step.constants.empty()) std::memcpy(constants, step.constants.data(), sizeof(constants));
    valid &= step.body({out.data(), elementSize(step.result), step.result}, views, kCount,
                       step.constants.empty() ? scalars + step.first_scalar : constants, step.common);
    results.push_back(std::move(out));
  }
  return results;
}

void expectSame(const FusedLoopSpec& spec, const Fused& fused, bool in_place = false) {
  std::vector<Bytes> inputs;
  for (size_t i = 0; i < spec.inputs.size(); ++i) inputs.push_back(elements(spec.inputs[i].dtype, static_cast<int>(i)));
  ScalarSlot scalars[8] = {};
  bool valid = true;
  const std::vector<Bytes> expected = chain(spec, inputs, scalars, valid);
  std::vector<Bytes> got;
  for (const FusedOutput& o : spec.outputs) got.emplace_back(expected[o.step].size());
  std::vector<std::byte*> out;
  std::vector<const std::byte*> in;
  std::vector<int64_t> in_outer, in_inner, out_outer, unused(8);
  for (size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(inputs[i].data());
    const FusedInput& input = spec.inputs[i];
    in_outer.push_back(input.stride == FusedStride::kZero ? 0 : kInner * elementSize(input.dtype));
    in_inner.push_back(elementSize(input.dtype));  // read for kAny only
  }
  for (size_t i = 0; i < got.size(); ++i) {
    out.push_back(in_place ? inputs[i].data() : got[i].data());
    out_outer.push_back(kInner * elementSize(spec.steps[spec.outputs[i].step].result));
  }
  EXPECT_EQ(fused({out.data(), unused.data(), out_outer.data(), in.data(), in_inner.data(), in_outer.data(), kInner,
                   kRows, scalars}),
            valid);
  for (size_t i = 0; valid && i < got.size(); ++i)
    EXPECT_EQ(std::memcmp(out[i], expected[spec.outputs[i].step].data(), got[i].size()), 0) << "output " << i;
}

FusedStep stepOf(const Functor& f, ScalarType common, std::vector<FusedOperand> operands) {
  return {f.loop(common), common, f.op->loopOutput(common), std::move(operands), 0};
}

TEST(Fuse, ARegionIsOneVectorLoopWithTheChainsBits) {
  for (const ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    FusedLoopSpec spec;
    spec.inputs.assign(3, {dtype, FusedStride::kUnit});
    spec.steps = {stepOf(functor("Mul"), dtype, {{FusedOperand::kInput, 0}, {FusedOperand::kInput, 1}}),
                  stepOf(functor("Mul"), dtype, {{FusedOperand::kStep, 0}, {FusedOperand::kInput, 2}}),
                  stepOf(functor("Mul"), dtype, {{FusedOperand::kStep, 1}, {FusedOperand::kStep, 0}})};
    spec.outputs = {{1, FusedStride::kUnit}, {2, FusedStride::kUnit}};
    for (const bool short_rows : {false, true}) {
      spec.short_rows = short_rows;
      const Fused fused = must(compile(spec));
      EXPECT_TRUE(fused.vectorised) << toString(dtype);
      expectSame(spec, fused);
      expectSame(spec, fused, /*in_place=*/true);
    }
  }
}

TEST(Fuse, OperandsOfOtherDtypesAndStridesAreCastOnLoad) {
  for (const FusedStride stride : {FusedStride::kZero, FusedStride::kAny}) {
    FusedLoopSpec spec;
    spec.inputs = {{kLong, FusedStride::kUnit}, {kBFloat16, stride}, {kDouble, stride}};
    spec.steps = {stepOf(functor("Mul"), kBFloat16, {{FusedOperand::kInput, 0}, {FusedOperand::kInput, 1}}),
                  stepOf(functor("Lt"), kFloat, {{FusedOperand::kStep, 0}, {FusedOperand::kInput, 2}}),
                  stepOf(functor("Mul"), kFloat, {{FusedOperand::kStep, 1}, {FusedOperand::kStep, 0}})};
    spec.outputs = {{1, FusedStride::kUnit}, {2, FusedStride::kUnit}};
    expectSame(spec, must(compile(spec)));
  }
}

// The call's scalars are zeros, and the memory of the input that is a constant isn't read.
TEST(Fuse, ConstantsArePartOfTheCode) {
  FusedLoopSpec spec;
  spec.inputs = {{kFloat, FusedStride::kUnit}, {kFloat, FusedStride::kZero}};
  uint32_t first = 0;
  std::memcpy(&first, elements(kFloat, 1).data(), sizeof(first));
  spec.inputs[1].constant = first;
  spec.steps = {stepOf(functor("Add"), kFloat, {{FusedOperand::kInput, 0}, {FusedOperand::kInput, 1}}),
                stepOf(functor("Add"), kFloat, {{FusedOperand::kStep, 0}, {FusedOperand::kInput, 0}})};
  spec.steps[0].constants = {std::bit_cast<uint32_t>(1.0F), 0, 0};
  spec.steps[1].constants = {std::bit_cast<uint32_t>(-2.5F), 0, 0};
  spec.outputs = {{0, FusedStride::kUnit}, {1, FusedStride::kUnit}};
  expectSame(spec, must(compile(spec)));
  spec.steps[1].constants.pop_back();
  EXPECT_EQ(messageOf(compile(spec)), "step 1: expected 3 constants or none, got 2");
  spec.inputs[0].constant = 0;
  EXPECT_EQ(messageOf(compile(spec)), "input 0 is a constant, but not one element for a whole row");
}

TEST(Fuse, RefusalsNameTheStep) {
  FusedLoopSpec spec;
  EXPECT_EQ(messageOf(compile(spec)), "a region has at least one step and one output");
  spec.inputs = {{kFloat, FusedStride::kUnit}};
  spec.steps = {stepOf(functor("Mul"), kFloat, {{FusedOperand::kInput, 0}, {FusedOperand::kStep, 0}})};
  spec.outputs = {{0, FusedStride::kUnit}};
  EXPECT_EQ(messageOf(compile(spec)), "step 0: it reads step 0, expected one below 0");
  // Where a library went and this one has its addresses.
  spec.steps = {stepOf(functor("Mul"), kFloat, {{FusedOperand::kInput, 0}, {FusedOperand::kInput, 0}})};
  spec.steps[0].library = 99;
  EXPECT_EQ(messageOf(compile(spec)), "step 0 can't be fused: its loop is of a library without bitcode");
}

/// The functor alone, of consecutive elements.
FusedLoopSpec aloneOf(const Functor& f, ScalarType common) {
  FusedLoopSpec spec;
  std::vector<FusedOperand> operands;
  for (int i = 0; i < f.op->num_inputs; ++i) {
    spec.inputs.push_back({f.op->loopInput(i, common), FusedStride::kUnit});
    operands.push_back({FusedOperand::kInput, static_cast<uint16_t>(i)});
  }
  spec.steps = {stepOf(f, common, std::move(operands))};
  spec.outputs = {{0, FusedStride::kUnit}};
  return spec;
}

TEST(Fuse, EveryFunctorAloneInEveryDtype) {
  int compiled = 0, refused = 0;
  for (const Functor& f : functors())
    for (int number = 0; number < elementwise::kDtypeSlots; ++number) {
      const auto common = static_cast<ScalarType>(number);
      if (f.loop(common) == nullptr) continue;
      SCOPED_TRACE(f.name + " of " + toString(common));
      const FusedLoopSpec spec = aloneOf(f, common);
      auto fused = compile(spec);
      ++(fused ? compiled : refused);
      if (fused)
        expectSame(spec, *fused);
      else
        EXPECT_NE(llvm::toString(fused.takeError()).find("calls a function for some elements"), std::string::npos);
    }
  EXPECT_GT(compiled, 16 * refused) << compiled << " compiled, " << refused << " refused";
  RecordProperty("compiled", compiled);
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace shunt::jit::test
