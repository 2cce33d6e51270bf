// Results that are arguments which an operator writes: the alias sets of its schema say which, in whatever order, and
// where an optional one isn't given the result is a new tensor. Operators of many schemas, each in every transform and
// mode: the values are eager code's, or an error names the argument.
#include "tests/support/error_of.h"
#include "tests/support/wrapper.h"

#include <shunt/core/library.h>
#include <shunt/core/log.h>
#include <shunt/shunt.h>
#include <shunt/transforms/functionalize.h>
#include <shunt/transforms/grad_transforms.h>
#include <shunt/transforms/vmap.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shunt::test {
namespace {

using Tensors = std::vector<Tensor>;
using Two = std::tuple<Tensor, Tensor>;
using Maybe = const std::optional<Tensor>&;

Tensor& second(Tensor& a, Tensor& b) { return a.add_(1), b.add_(2); }
Two second_f(const Tensor& a, const Tensor& b) { return {a + 1, b + 2}; }
std::tuple<Tensor&, Tensor&> swapped(Tensor& a, Tensor& b) { return a.add_(1), b.add_(2), std::tie(b, a); }
Two swapped_f(const Tensor& a, const Tensor& b) { return {b + 2, a + 1}; }
Tensor lookup(const Tensor& x, Maybe out) { return out ? Tensor(*out).copy_(x * 2) : x * 2; }
Tensor either(Tensor& x, Tensor& y, bool first) { return x.add_(1), y.add_(2), first ? x : y; }
Two either_f(const Tensor& x, const Tensor& y, bool) { return {x + 1, y + 2}; }
Two stat(const Tensor& x, Tensor& sum) { return {x * 3, sum.add_(x)}; }
Two stat_f(const Tensor& x, const Tensor& sum) { return {x * 3, sum + x}; }
Tensor bump(Tensor& x) { return x.add_(1), x * 5; }
Two bump_f(const Tensor& x) { return {(x + 1) * 5, x + 1}; }
void put(const Tensor& x, Tensor& to) { to.copy_(x * 7); }
Tensor put_f(const Tensor& x, const Tensor&) { return x * 7; }
std::tuple<Tensor&, Tensor&> pair_out(const Tensor& x, Tensor& u, Tensor& v) {
  return u.copy_(x * 2), v.copy_(x * 3), std::tie(u, v);
}
Two pair(const Tensor& x) { return {x * 2, x * 3}; }
void many(TensorList list, double k) {
  for (Tensor t : list) t.mul_(k);
}
Tensor three(const Tensor& x, Tensor& a, Maybe b, Tensor& c) {
  a.add_(x);
  if (b) Tensor(*b).add_(2);
  return c.add_(3);
}
std::tuple<Tensor, Tensor, Tensor> three_f(const Tensor& x, const Tensor& a, Maybe b, const Tensor& c) {
  return {a + x, b ? *b + 2 : Tensor(), c + 3};
}

SHUNT_LIBRARY(written, m) {
  m.def("second(Tensor(a!) a, Tensor(b!) b) -> Tensor(b!)");
  m.def("second.f(Tensor a, Tensor b) -> (Tensor, Tensor)");
  m.def("swapped(Tensor(a!) a, Tensor(b!) b) -> (Tensor(b!), Tensor(a!))");
  m.def("swapped.f(Tensor a, Tensor b) -> (Tensor b, Tensor a)");
  m.def("unnamed(Tensor(a!) a, Tensor(b!) b) -> (Tensor(b!), Tensor(a!))");
  m.def("unnamed.f(Tensor a, Tensor b) -> (Tensor, Tensor)");
  m.def("lookup(Tensor x, Tensor(b!)? out=None) -> Tensor(b!)");
  m.def("lookup.f(Tensor x, Tensor? out=None) -> Tensor");
  m.def("lookup_kw(Tensor x, *, Tensor(b!)? out=None) -> Tensor(b!)");
  m.def("lookup_kw.f(Tensor x) -> Tensor");
  m.def("either(Tensor(a!) x, Tensor(a!) y, bool first) -> Tensor(a!)");
  m.def("either.f(Tensor x, Tensor y, bool first) -> (Tensor, Tensor)");
  m.def("stat(Tensor x, Tensor(a!) sum) -> (Tensor, Tensor(a!))");
  m.def("stat.f(Tensor x, Tensor sum) -> (Tensor, Tensor)");
  m.def("bump(Tensor(a!) x) -> Tensor");
  m.def("bump.f(Tensor x) -> (Tensor, Tensor)");
  m.def("put(Tensor x, Tensor(a!) to) -> ()");
  m.def("put.f(Tensor x, Tensor to) -> Tensor");
  m.def("pair(Tensor x) -> (Tensor, Tensor)");
  m.def("pair.out(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!), Tensor(b!))");
  m.def("peek(Tensor(a!) x) -> Tensor(a)");
  m.def("peek.f(Tensor x) -> Tensor");
  m.def("many(Tensor(a!)[] list, float k) -> ()");
  m.def("three(Tensor x, Tensor(a!) a, Tensor(b!)? b, Tensor(c!) c) -> Tensor(c!)");
  m.def("three.f(Tensor x, Tensor a, Tensor? b, Tensor c) -> (Tensor, Tensor, Tensor)");
}

void define(Library& m) {
  m.impl("second", &second).impl("second.f", &second_f).impl("swapped", &swapped).impl("swapped.f", &swapped_f);
  m.impl("unnamed", &swapped)
      .impl("unnamed.f", &swapped_f)
      .impl("lookup", &lookup)
      .impl("lookup.f", [](const Tensor& x, Maybe) { return x * 2; });
  m.impl("lookup_kw", &lookup).impl("lookup_kw.f", [](const Tensor& x) { return x * 2; });
  m.impl("either", &either).impl("either.f", &either_f).impl("stat", &stat).impl("stat.f", &stat_f);
  m.impl("bump", &bump).impl("bump.f", &bump_f).impl("put", &put).impl("put.f", &put_f);
  m.impl("peek", [](Tensor& x) { return x.add_(1).view({-1}); });
  m.impl("peek.f", [](const Tensor& x) { return x + 1; });
  m.impl("pair", &pair).impl("pair.out", &pair_out).impl("many", &many).impl("three", &three).impl("three.f", &three_f);
}
SHUNT_LIBRARY_IMPL(written, CPU, m) { define(m); }
SHUNT_LIBRARY_IMPL(written, Meta, m) { define(m); }

Tensors call(const char* name, Stack stack) {
  Dispatcher::singleton().findSchemaOrThrow(name, name == std::string("written::pair") ? "out" : "").callBoxed(&stack);
  Tensors out;
  for (const IValue& v : stack) out.push_back(v.isNone() ? Tensor() : v.toTensor());
  return out;
}

/// Of what the results and arguments of a call hold: results are changed, so that it shows which argument they are.
Tensor weighed(Tensors results, Tensors tensors) {
  double by = 10;
  for (Tensor& t : results)
    if (t.defined()) t.add_(by *= 2);
  tensors.insert(tensors.end(), results.begin(), results.end());
  Tensor sum = zeros_like(tensors[0]);
  double weight = 1;
  for (const Tensor& t : tensors)
    if (t.defined()) sum = sum + t * (weight *= 3);
  return sum;
}

using Function = std::function<Tensor(const Tensor&)>;
struct Case {
  const char* name;
  Function f;
};
// Every argument is computed, so that it is of the level and may be written.
const Case kCases[] = {
    {"second of two",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::second", {a, b}), {a, b});
     }},
    {"twice one",
     [](const Tensor& x) {
       Tensor a = x * 1;
       return weighed(call("written::second", {a, a}), {a});
     }},
    {"two parts of one",
     [](const Tensor& x) {
       Tensor a = stack({x, x * 2});
       return weighed(call("written::second", {a[0], a[1]}), {a.select(0, 0), a.select(0, 1)});
     }},
    {"in another order",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::swapped", {a, b}), {a, b});
     }},
    {"in another order, unnamed",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::unnamed", {a, b}), {a, b});
     }},
    {"optional, not given", [](const Tensor& x) { return weighed(call("written::lookup", {x * 1, IValue()}), {x}); }},
    {"optional, given",
     [](const Tensor& x) {
       Tensor out = x * 4;
       return weighed(call("written::lookup", {x * 1, out}), {out});
     }},
    {"keyword, not given", [](const Tensor& x) { return weighed(call("written::lookup_kw", {x * 1, IValue()}), {x}); }},
    {"keyword, given",
     [](const Tensor& x) {
       Tensor out = x * 4;
       return weighed(call("written::lookup_kw", {x * 1, out}), {out});
     }},
    {"one set, first",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::either", {a, b, true}), {a, b});
     }},
    {"one set, second",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::either", {a, b, false}), {a, b});
     }},
    {"second result only",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::stat", {a, b}), {a, b});
     }},
    {"new result only",
     [](const Tensor& x) {
       Tensor a = x * 1;
       return weighed(call("written::bump", {a}), {a});
     }},
    {"no result",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::put", {a, b}), {a, b});
     }},
    {"two keywords",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::pair", {x * 3, a, b}), {a, b});
     }},
    {"list",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2;
       return weighed(call("written::many", {Tensors{a, b}, 3.0}), {a, b});
     }},
    {"a view",
     [](const Tensor& x) {
       Tensor a = x * 1;
       return weighed(call("written::peek", {a}), {a});
     }},
    {"last of three",
     [](const Tensor& x) {
       Tensor a = x * 1, b = x * 2, c = x * 3;
       return weighed(call("written::three", {x * 4, a, b, c}), {a, b, c});
     }},
    {"last of three, one not given",
     [](const Tensor& x) {
       Tensor a = x * 1, c = x * 3;
       return weighed(call("written::three", {x * 4, a, IValue(), c}), {a, c});
     }},
};

struct PassOn : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
};
struct PassOnAtKernel : PassOn {
  Level level() const override { return Level::kKernel; }
};
template <class Mode>
Function underMode(const Function& f) {
  return [f](const Tensor& x) {
    Mode mode;
    const DispatchModeGuard guard(mode);
    return f(x);
  };
}
Function itself(const Function& f) { return f; }
Function vmapOf(const Function& f) {
  return [f](const Tensor& x) { return vmap(f)(stack({x, x + 7}))[0]; };
}
Function vmapAlongLast(const Function& f) {
  return [f](const Tensor& x) { return vmap(f, {.in_dims = {1}})(stack({x, x + 7}, 1))[0]; };
}
/// The value of what grad's function computes of a constant: the operators have no derivatives.
Function gradOf(const Function& f) {
  return [f](const Tensor& x) {
    Tensor value;
    const auto g = vjp([&](const Tensor& t) { return f(t.detach() * 1) + t * 0; }, x);
    return std::get<0>(g);
  };
}
Function noGradOf(const Function& f) {
  return [f](const Tensor& x) {
    const NoGradGuard guard;
    return f(x);
  };
}
Function functionalizeOf(const Function& f) {
  return [f](const Tensor& x) { return functionalize(f)(x); };
}
Function checkedFunctionalizeOf(const Function& f) {
  return [f](const Tensor& x) {
    const FunctionalizeCheckGuard check;
    return functionalize(f)(x);
  };
}
Function traceOf(const Function& f) {
  return [f](const Tensor& x) { return trace(f, x + 1).run({x})[0]; };
}
Function compileOf(const Function& f) {
  const auto fast = compile(f);
  return [fast](const Tensor& x) {
    for (int i = 0; i < 3; ++i) fast(x);
    return fast(x);
  };
}
Function subclassOf(const Function& f) {
  return [f](const Tensor& x) { return unwrap<Wrapper>(f(wrap<Wrapper>(x))); };
}
template <Function (*Outer)(const Function&), Function (*Inner)(const Function&)>
Function both(const Function& f) {
  return Outer(Inner(f));
}

struct Mode {
  const char* name;
  Function (*apply)(const Function&);
  bool vmaps, functionalizes;
};
const Mode kModes[] = {
    {"eager", itself, false, false},
    {"vmap", vmapOf, true, false},
    {"vmap along the last dimension", vmapAlongLast, true, false},
    {"grad", gradOf, false, false},
    {"no_grad", noGradOf, false, false},
    {"functionalize", functionalizeOf, false, true},
    {"functionalize, checked", checkedFunctionalizeOf, false, true},
    {"trace", traceOf, false, false},
    {"compile", compileOf, false, false},
    {"subclass", subclassOf, false, false},
    {"mode", underMode<PassOn>, false, false},
    {"kernel mode", underMode<PassOnAtKernel>, false, false},
    {"vmap(vmap)", both<vmapOf, vmapOf>, true, false},
    {"vmap(grad)", both<vmapOf, gradOf>, true, false},
    {"grad(vmap)", both<gradOf, vmapOf>, true, false},
    {"grad(grad)", both<gradOf, gradOf>, false, false},
    {"functionalize(vmap)", both<functionalizeOf, vmapOf>, true, true},
    {"vmap(functionalize)", both<vmapOf, functionalizeOf>, false, true},
    {"functionalize(grad)", both<functionalizeOf, gradOf>, false, true},
    {"grad(functionalize)", both<gradOf, functionalizeOf>, false, true},
    {"compile(vmap)", both<compileOf, vmapOf>, true, false},
    {"compile(functionalize)", both<compileOf, functionalizeOf>, false, true},
    {"trace(vmap)", both<traceOf, vmapOf>, true, false},
    {"vmap(subclass)", both<vmapOf, subclassOf>, true, false},
    {"mode(vmap)", both<underMode<PassOn>, vmapOf>, true, false},
};

/// What is an error, and what it has to say.
const std::map<std::string, const char*> kRefusedByVmap = {
    {"keyword, given", "out= form"},
    {"two keywords", "out= form"},
    {"a view", "returns a view"},
};
const std::map<std::string, const char*> kNotFunctional = {
    {"twice one", "'a' and 'b', which it both writes"},
    {"in another order, unnamed", "returns its arguments 'a', 'b' in another order"},
    {"a view", "is a view of argument 'x', which it writes"},
    {"list", "'list' is a written list of tensors"},
};

const char* expectedError(const std::string& name, const Mode& mode) {
  const auto in = [&](const std::map<std::string, const char*>& errors, bool applies) -> const char* {
    const auto found = errors.find(name);
    return applies && found != errors.end() ? found->second : nullptr;
  };
  const char* of_vmap = in(kRefusedByVmap, mode.vmaps);
  return of_vmap != nullptr ? of_vmap : in(kNotFunctional, mode.functionalizes);
}

TEST(WrittenArguments, AreWhatTheSchemaSays) {
  const LogSink before = set_log_sink([](LogLevel, const char*) {});
  for (const Case& c : kCases)
    for (const Mode& mode : kModes) {
      SCOPED_TRACE(std::string(c.name) + ", " + mode.name);
      const Tensor x = tensor({1.f, 2.f, 5.f}), expected = c.f(x.clone());
      Tensor got;
      const std::string error = errorOf([&] { got = mode.apply(c.f)(x.clone()); });
      if (const char* part = expectedError(c.name, mode)) {
        EXPECT_THAT(error, testing::HasSubstr(part));
        continue;
      }
      EXPECT_EQ(error, "no error");
      if (got.defined()) EXPECT_TRUE(got.equal(expected)) << got << "\nexpected " << expected;
    }
  set_log_sink(before);
}

// A written list with a member that has no batch, and an optional argument without one.
TEST(WrittenArguments, WithoutBatchAreRefused) {
  const LogSink before = set_log_sink([](LogLevel, const char*) {});
  Tensor u = ones({1});
  const auto inList = [&](const Tensor& t) {
    Tensor a = t * 1;
    call("written::many", {Tensors{a, u}, 2.0});
    return a;
  };
  EXPECT_THAT(errorOf([&] { vmap(inList)(zeros({3, 1})); }), testing::HasSubstr("writes to its argument 'list'"));
  const auto optional = [&](const Tensor& t) { return call("written::lookup", {t, u})[0]; };
  EXPECT_THAT(errorOf([&] { vmap(optional)(zeros({3, 1})); }), testing::HasSubstr("writes to its argument 'out'"));
  EXPECT_EQ(u.item<float>(), 1);
  set_log_sink(before);
}

// Where an operator has no derivative, what it writes can't keep the gradient that it had.
TEST(WrittenArguments, LoseTheirGradientLoudly) {
  const Tensor x = ones({2}).requires_grad_();
  for (const char* name : {"written::put", "written::second", "written::stat"}) {
    SCOPED_TRACE(name);
    Tensor a = x * 1, b = x * 2;
    call(name, {a, b});
    EXPECT_THAT(errorOf([&] { b.sum().backward(); }), testing::HasSubstr("not implemented"));
    Tensor base = x * 1, part = base.select(0, 0), other = x.select(0, 0) * 2;
    call(name, {other, part});
    EXPECT_THAT(errorOf([&] { base.sum().backward(); }), testing::HasSubstr("not implemented"));
  }
  Tensor new_one = call("written::lookup", {x, IValue()})[0];
  EXPECT_TRUE(new_one.requires_grad());
  EXPECT_THAT(errorOf([&] { new_one.sum().backward(); }), testing::HasSubstr("not implemented"));
}

}  // namespace
}  // namespace shunt::test
