// A list of operators and host steps that is built into a host plan, and is called one operator after the other on
// tensors over a copy of the same memory: what both leave there and return is compared to the bit.
#pragma once

#include "tests/support/same_bits.h"

#include <shunt/compile/host_plan.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shunt::host {

/// Elements of a tensor in the host's memory, in order of their indices, whatever strides it has.
template <class T, class F>
void forElements(void* data, const HostSpec& spec, F&& f) {
  const size_t dim = spec.sizes.size();
  int64_t count = 1;
  for (const int64_t n : spec.sizes) count *= n;
  std::vector<int64_t> index(dim);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < dim; ++d) at += index[d] * spec.strides[d];
    f(i, static_cast<T*>(data)[at]);
    for (size_t d = dim; d-- > 0 && ++index[d] == spec.sizes[d];) index[d] = 0;
  }
}

/// result = 2 * input + 1.
inline void twicePlusOne(const HostCall& call) {
  std::vector<float> elements;
  forElements<float>(call.inputs[0], call.input_specs[0], [&](int64_t, float x) { elements.push_back(2 * x + 1); });
  forElements<float>(call.results[0], call.result_specs[0],
                     [&](int64_t i, float& y) { y = elements[static_cast<size_t>(i)]; });
}

/// input 0 += input 1, in place.
inline void addInPlace(const HostCall& call) {
  std::vector<float> added;
  forElements<float>(call.inputs[1], call.input_specs[1], [&](int64_t, float x) { added.push_back(x); });
  forElements<float>(call.inputs[0], call.input_specs[0],
                     [&](int64_t i, float& y) { y += added[static_cast<size_t>(i)]; });
}

/// Blocks of the host's memory, with the tensors in them.
class Memory {
 public:
  size_t add(size_t bytes, size_t shift) {
    blocks_.push_back({std::vector<std::byte>(bytes + 64 + shift), shift});
    return blocks_.size() - 1;
  }
  void* begin(size_t block) {
    Block& b = blocks_[block];
    const auto at = reinterpret_cast<uintptr_t>(b.bytes.data());
    return b.bytes.data() + ((64 - at % 64) % 64) + b.shift;
  }
  size_t room(size_t block) const { return blocks_[block].bytes.size() - 64 - blocks_[block].shift; }
  size_t size() const { return blocks_.size(); }

 private:
  struct Block {
    std::vector<std::byte> bytes;
    size_t shift;
  };
  std::vector<Block> blocks_;
};

class Chain {
 public:
  struct Given {
    HostSpec spec;
    size_t block;
  };
  /// Memory that begins `shift` bytes behind a multiple of 64.
  size_t input(HostSpec spec, size_t shift = 0) {
    const HostValue v = builder.input(spec);
    spec = builder.spec(v);
    blocks_.push_back({bytesOf(spec), shift});
    given_.push_back({spec, blocks_.size() - 1});
    return add(v);
  }
  /// In the same storage, which has room for both.
  size_t inputIn(size_t other, HostSpec spec) {
    const HostValue v = builder.input(spec, values_[other]);
    spec = builder.spec(v);
    const size_t block = given_[other].block;
    blocks_[block].first = std::max(blocks_[block].first, bytesOf(spec));
    given_.push_back({spec, block});
    return add(v);
  }
  struct Argument {
    Argument(size_t v) : value(v), is_value(true) {}
    Argument(IValue v) : literal(std::move(v)) {}
    size_t value = 0;
    IValue literal;
    bool is_value = false;
  };
  static Argument literal(IValue v) { return Argument(std::move(v)); }
  /// All arguments of the operator; returns its first result.
  size_t call(const std::string& name, std::vector<Argument> arguments) {
    std::vector<HostArgument> given;
    for (const Argument& a : arguments)
      given.push_back(a.is_value ? HostArgument(values_[a.value]) : HostArgument(a.literal));
    const std::vector<HostValue> made = builder.call(name, given);
    const size_t dot = name.find('.');
    const auto op = Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot).c_str(),
                                                              dot == std::string::npos ? "" : name.c_str() + dot + 1);
    todo_.push_back([op, arguments](std::vector<Tensor>& t) {
      Stack stack;
      for (const Argument& a : arguments) stack.push_back(a.is_value ? IValue(t[a.value]) : a.literal);
      op.callBoxed(stack);
      t.push_back(stack[0].toTensor());
    });
    return add(made[0]);
  }
  size_t hostStep(size_t x, bool has_effects = false) {
    HostSpec result = builder.spec(values_[x]);
    result.strides.clear();
    result.offset = 0;
    const auto made = builder.step({.name = "twice",
                                    .function = &twicePlusOne,
                                    .inputs = {values_[x]},
                                    .results = {result},
                                    .has_effects = has_effects});
    todo_.push_back([x](std::vector<Tensor>& t) { t.push_back(t[x] * 2 + 1); });
    return add(made[0]);
  }
  void hostAdd(size_t x, size_t y) {
    builder.step({.name = "add", .function = &addInPlace, .inputs = {values_[x], values_[y]}, .written = {0}});
    todo_.push_back([x, y](std::vector<Tensor>& t) { t[x].add_(t[y]); });
  }
  void output(size_t v) {
    builder.output(values_[v]);
    outputs_.push_back(v);
  }
  void outputInto(size_t v) {
    builder.outputInto(values_[v]);
    outputs_.push_back(v);
  }
  size_t size() const { return values_.size(); }
  HostSpec spec(size_t v) const { return builder.spec(values_[v]); }
  const HostValue& value(size_t v) const { return values_[v]; }

  /// Runs the plan and the operators on new memory with the same elements, and compares.
  void expectSame(const HostPlan& plan, unsigned seed) const {
    Memory ours, theirs;
    fill(ours, seed);
    fill(theirs, seed);
    std::vector<void*> inputs, targets;
    std::vector<Tensor> tensors;
    for (const Given& g : given_) {
      inputs.push_back(at(ours, g));
      tensors.push_back(from_blob(at(theirs, g), g.spec.sizes, g.spec.strides, TensorOptions(g.spec.dtype)));
    }
    // In one storage where they are declared so, so that operators see that they share it.
    for (size_t i = 0; i < given_.size(); ++i)
      if (isShared(i)) tensors[i] = shareWith(theirs, given_[i]);
    {
      const NoGradGuard no_grad;
      for (const auto& call : todo_) call(tensors);
    }
    Memory out;
    for (const HostOutput& o : plan.outputs())
      if (o.kind == HostOutput::Kind::kMemory) out.add(bytesOf(o.spec), static_cast<size_t>(elementSize(o.spec.dtype)));
    for (size_t i = 0; i < out.size(); ++i) targets.push_back(out.begin(i));
    const std::vector<Tensor> made = plan.run(inputs, targets);
    compareOutputs(plan, tensors, made, targets, inputs);
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t b = 0; b < ours.size(); ++b)
      EXPECT_EQ(std::memcmp(ours.begin(b), theirs.begin(b), ours.room(b)), 0) << "block " << b << plan.describe();
    storages_.clear();
  }

  HostPlanBuilder builder;

  static size_t bytesOf(const HostSpec& spec) {
    int64_t last = spec.offset;
    for (size_t d = 0; d < spec.sizes.size(); ++d) {
      if (spec.sizes[d] == 0) return 0;
      last += (spec.sizes[d] - 1) * spec.strides[d];
    }
    return static_cast<size_t>((last + 1) * elementSize(spec.dtype));
  }

 private:
  size_t add(HostValue v) {
    values_.push_back(std::move(v));
    return values_.size() - 1;
  }
  static void* at(Memory& memory, const Given& g) {
    return static_cast<std::byte*>(memory.begin(g.block)) + g.spec.offset * elementSize(g.spec.dtype);
  }
  bool isShared(size_t i) const {
    for (size_t k = 0; k < given_.size(); ++k)
      if (k != i && given_[k].block == given_[i].block) return true;
    return false;
  }
  Tensor shareWith(Memory& memory, const Given& g) const {
    Tensor& whole = storages_[g.block];
    if (!whole.defined())
      whole = from_blob(memory.begin(g.block), {static_cast<int64_t>(memory.room(g.block)) / elementSize(g.spec.dtype)},
                        TensorOptions(g.spec.dtype));
    return whole.as_strided(g.spec.sizes, g.spec.strides, g.spec.offset);
  }
  void fill(Memory& memory, unsigned seed) const {
    for (const auto& [bytes, shift] : blocks_) memory.add(bytes, shift);
    for (const Given& g : given_) {
      if (g.spec.dtype != kFloat) continue;
      unsigned state = seed * 2654435761u + static_cast<unsigned>(g.block) + 1;
      auto* const begin = static_cast<float*>(memory.begin(g.block));
      for (size_t i = 0; i < memory.room(g.block) / sizeof(float); ++i) {
        state = state * 1664525u + 1013904223u;
        begin[i] = static_cast<float>(static_cast<int>(state >> 8) % 2001 - 1000) / 256;
      }
    }
  }
  void compareOutputs(const HostPlan& plan, const std::vector<Tensor>& tensors, const std::vector<Tensor>& made,
                      const std::vector<void*>& targets, const std::vector<void*>& inputs) const {
    size_t next = 0, target = 0;
    ASSERT_EQ(plan.outputs().size(), outputs_.size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const HostOutput& o = plan.outputs()[i];
      Tensor got;
      if (o.kind == HostOutput::Kind::kTensor) {
        got = made.at(next++);
      } else if (o.kind == HostOutput::Kind::kMemory) {
        got = from_blob(targets.at(target++), o.spec.sizes, o.spec.strides, TensorOptions(o.spec.dtype));
      } else {
        const HostSpec& in = plan.inputs()[o.input];
        auto* const begin = static_cast<std::byte*>(inputs[o.input]) - in.offset * elementSize(in.dtype);
        got = from_blob(begin + o.spec.offset * elementSize(o.spec.dtype), o.spec.sizes, o.spec.strides,
                        TensorOptions(o.spec.dtype));
      }
      EXPECT_TRUE(test::sameBits(tensors[outputs_[i]], got, test::kButStrides)) << "output " << i << "\n"
                                                                                << plan.describe();
    }
    EXPECT_EQ(next, made.size());
  }

  std::vector<HostValue> values_;
  std::vector<std::pair<size_t, size_t>> blocks_;  // bytes, shift
  std::vector<Given> given_;                       // the first values
  std::vector<std::function<void(std::vector<Tensor>&)>> todo_;
  std::vector<size_t> outputs_;
  mutable std::map<size_t, Tensor> storages_;
};

}  // namespace shunt::host
