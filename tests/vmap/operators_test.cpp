// Every operator of the dictionary, all dtypes, on drawn arguments: vmap of the call equals the call on each sample,
// with drawn choices of what is batched and where; it throws where they throw, and nowhere else.
#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"
#include "tests/parity/shunt_api.h"
#include "tests/parity/snippet.h"
#include "tests/support/seed.h"
#include "tests/vmap/util.h"

#include <shunt/core/log.h>

#include <iostream>
#include <map>

namespace parity {

Outcome runModel(const Case& c) { return runShunt(c); }

}  // namespace parity

namespace shunt::test {
namespace {

constexpr int64_t kSamples = 3;

/// One call as vmap's test makes it: the arguments of each sample, and which tensors of theirs are batched.
struct Call {
  std::vector<Stack> samples;
  Tensors values;                          // of the batched tensors, in their order
  std::vector<std::vector<bool>> batched;  // by argument, by tensor in it
  bool at_end = false;
};

/// Results of one sample, those of written arguments as they are after the call; or the error.
struct Result {
  std::vector<Tensors> tensors;
  std::string error;
};

/// The same elements in another order, and, where they are numbers of a floating dtype, the same memory layout.
Tensor another(const Tensor& t, int64_t sample) {
  Tensor copy = t.clone();
  const int64_t n = t.numel();
  if (sample == 0 || n < 2) return copy;
  const Tensor order = arange(n, TensorOptions(kLong)).add(sample).remainder(n);
  copy.copy_(t.reshape({-1}).index_select(0, order).reshape(t.sizes()));
  return copy;
}

Tensors tensorsIn(const IValue& v) {
  Tensors all;
  if (v.isTensor()) return {v.toTensor()};
  if (v.isTensorList()) return v.toTensorVector();
  if (v.isOptionalTensorList()) shunt::forEachTensor(v, [&](const Tensor& t) { all.push_back(t); });
  return all;
}

/// The arguments of all samples, those of a batch as slices of it.
Call callOf(const OperatorHandle& op, const Stack& stack, parity::Rng& rng) {
  Call c;
  c.at_end = rng.next() % 3 == 0;
  bool any = false;
  c.samples.resize(kSamples);
  for (size_t a = 0; a < stack.size(); ++a) {
    std::vector<bool> flags;
    std::vector<Tensors> columns;  // by tensor, by sample
    for (const Tensor& t : tensorsIn(stack[a])) {
      const bool can = t.defined() && !t.unsafeGetTensorImpl()->is_wrapped_number();
      flags.push_back(can && (rng.next() % 3 != 0 || !any));
      any |= flags.back();
      if (!flags.back()) continue;
      Tensors column;
      for (int64_t s = 0; s < kSamples; ++s) column.push_back(another(t, s));
      const Tensor batch = shunt::stack(column, c.at_end ? t.dim() : 0);
      c.values.push_back(batch);
      columns.push_back(batch.clone().unbind(c.at_end ? t.dim() : 0));
    }
    c.batched.push_back(flags);
    // An offset would be one in the memory of all samples.
    const bool offset = op.schema().arguments()[a].name == "storage_offset";
    for (size_t s = 0; s < kSamples; ++s) {
      size_t k = 0, next = 0;
      c.samples[s].push_back(offset ? IValue() : mapTensors(stack[a], [&](const Tensor& t) {
        const bool batched = flags[k++];
        if (t.unsafeGetTensorImpl()->is_wrapped_number()) return t;
        return batched ? columns[next++][s] : t.clone();
      }));
    }
  }
  return c;
}

std::vector<Tensors> described(const Stack& returns) {
  std::vector<Tensors> all;
  for (const IValue& v : returns) all.push_back(tensorsIn(v));
  return all;
}

Result callOnce(const OperatorHandle& op, Stack stack) {
  Result r;
  try {
    op.callBoxed(&stack);
    r.tensors = described(stack);
  } catch (const std::exception& e) {
    r.error = e.what();
  }
  return r;
}

/// By the parts of vmap itself, since arguments are of any number and kind.
Result callBatched(const OperatorHandle& op, const Call& c) {
  Result r;
  try {
    VmapOptions options;
    const auto holds = std::make_unique<bool[]>(c.values.size());
    std::fill_n(holds.get(), c.values.size(), true);
    for (const Tensor& value : c.values) {
      options.in_dims.push_back(c.at_end ? value.dim() - 1 : 0);
    }
    detail::VmapCall vmap(options, std::span(holds.get(), c.values.size()));
    for (size_t i = 0; i < c.values.size(); ++i) vmap.measure(i, c.values[i]);
    vmap.chunks();
    Stack stack;
    {
      vmap.enter(0);
      const detail::LeaveAtEnd<detail::VmapCall> leave{vmap};
      size_t next = 0;
      for (size_t a = 0; a < c.batched.size(); ++a) {
        size_t k = 0;
        stack.push_back(mapTensors(c.samples[0][a], [&](const Tensor& t) {
          const size_t i = k++;
          if (!c.batched[a][i]) return t;
          const size_t value = next++;
          return vmap.wrap(value, c.values[value]);
        }));
      }
      op.callBoxed(&stack);
    }
    for (IValue& v : stack) v = mapTensors(v, [&](const Tensor& t) { return vmap.unwrap(t, 0, 1); });
    r.tensors = described(stack);
  } catch (const std::exception& e) {
    r.error = e.what();
  }
  return r;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Errors that vmap alone has, and has to.
bool isVmapsOwn(const std::string& error) {
  for (const char* part : {"that has no batch", "draws random numbers", "can't run inside vmap", "broadcast shape",
                           "item() of a batched tensor", "were not batched"})
    if (contains(error, part)) return true;
  return false;
}

/// Libraries pad products and convolutions for some shapes and not for others, and go through what they reduce in
/// another order; and infinity times 0 is NaN.
Tensor withoutInfinities(const Tensor& t, const Tensor& other) {
  if (!t.is_floating_point()) return t;
  const Tensor finite = t.isfinite().logical_and(other.isfinite());
  return where(finite, t, zeros_like(t));
}

double tolerance(ScalarType t) {
  return t == kDouble ? 1e-12 : t == kFloat ? 1e-5 : t == kHalf ? 4e-3 : t == kBFloat16 ? 3e-2 : 0;
}

class AllOperators {
 public:
  void run() {
    const uint64_t seed = seedOfComparison(20261123);
    std::cout << "seed " << seed << '\n';
    for (int round = 0; round < (longRun() ? 24 : 3); ++round)
      for (const OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
        const auto op = Dispatcher::singleton().findSchema(name);
        if (!op || name.getNamespace() != "aten" || name.name == "aten::_local_scalar_dense" || op->schema().isOut())
          continue;
        if (name.name == "aten::detach_") continue;  // refuses views, which the loop's samples are
        for (const int dtype : parity::allDtypes())
          one(*op, dtype, parity::hashOf(name.str() + parity::dtypeName(dtype) + std::to_string(round), seed));
      }
    for (const auto& [key, text] : failures_) ADD_FAILURE() << key << "\n" << text;
    std::cout << cases_ << " cases, " << threw_ << " of them refused by the operator, " << refused_ << " by vmap\n";
    EXPECT_GT(cases_, 1000);
    EXPECT_LT(threw_, cases_ / 3);
    EXPECT_LT(refused_, cases_ / 6);
  }

 private:
  void one(const OperatorHandle& op, int dtype, uint64_t seed) {
    const FunctionSchema& schema = op.schema();
    parity::Case drawn = parity::drawCase(schema, dtype, false, true, seed);
    struct Keep : parity::ShuntApi {
      static void callBoxed(const std::string&, const std::string&, Stack& stack) { kept() = stack; }
      static Stack& kept() {
        static Stack stack;
        return stack;
      }
    };
    parity::Executor<Keep>(drawn).run();
    parity::Rng rng(seed);
    const NoGradGuard no_grad;
    const Call call = callOf(op, Keep::kept(), rng);
    const bool any = std::any_of(call.batched.begin(), call.batched.end(), [](const std::vector<bool>& flags) {
      return std::find(flags.begin(), flags.end(), true) != flags.end();
    });
    if (!any) return;
    ++cases_;
    std::vector<Result> expected;
    // Before the samples are written to.
    const Result got = callBatched(op, call);
    for (const Stack& s : call.samples) expected.push_back(callOnce(op, s));
    compare(op, drawn, call, expected, got);
  }

  void compare(const OperatorHandle& op, const parity::Case& drawn, const Call& call,
               const std::vector<Result>& expected, const Result& got) {
    const std::string snippet = parity::snippetOf(drawn, op.schema());
    const auto fail = [&](const std::string& kind, const std::string& text) {
      std::string flags;
      for (const auto& f : call.batched)
        for (const bool b : f) flags += b ? '1' : '0';
      std::string& kept = failures_[op.operator_name().str() + ": " + kind];
      const std::string whole = text + "\nbatched " + flags + (call.at_end ? " at the end\n" : " in front\n") + snippet;
      if (kept.empty() || whole.size() < kept.size()) kept = whole;
    };
    const auto threw = std::find_if(expected.begin(), expected.end(), [](const Result& r) { return !r.error.empty(); });
    if (threw != expected.end()) {
      ++threw_;
      if (got.error.empty()) fail("no error", threw->error);
      return;
    }
    if (!got.error.empty()) {
      ++refused_;
      if (!isVmapsOwn(got.error)) fail("an error", got.error);
      return;
    }
    const parity::Rule& rule = parity::ruleFor(drawn.name, drawn.overload);
    // Losses broadcast and then sum.
    const bool bits = parity::isElementwise(rule) && (rule.flags & parity::kAccumulates) == 0;
    for (size_t r = 0; r < got.tensors.size(); ++r)
      for (size_t k = 0; k < got.tensors[r].size(); ++k)
        for (int64_t s = 0; s < kSamples; ++s) {
          const Tensor& e = expected[static_cast<size_t>(s)].tensors[r][k];
          const Tensor& whole = got.tensors[r][k];
          if (e.defined() != whole.defined()) return fail("undefined", "");
          if (!e.defined()) continue;
          const Tensor g = whole.select(0, s);
          if (g.dtype() != e.dtype() || g.sizes() != e.sizes())
            return fail("looks", detail::str(g.dtype(), g.sizes(), ", expected ", e.dtype(), e.sizes()));
          if ((rule.flags & parity::kMetadataOnly) != 0) continue;
          const double d = bits ? distance(g, e) : distance(withoutInfinities(g, e), withoutInfinities(e, g));
          const double allowed = bits ? 0 : tolerance(e.dtype());
          if (d > allowed) return fail("values", detail::str("distance ", d, "\n", g, "\nexpected\n", e));
        }
  }

  std::map<std::string, std::string> failures_;
  int cases_ = 0, threw_ = 0, refused_ = 0;
};

TEST(VmapOperators, EqualTheLoop) {
  const LogSink before = set_log_sink([](LogLevel, const char*) {});
  AllOperators().run();
  set_log_sink(before);
}

}  // namespace
}  // namespace shunt::test
