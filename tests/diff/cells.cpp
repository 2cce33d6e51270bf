#include "tests/diff/cells.h"

#include "tests/parity/draft.h"
#include "tests/parity/dtypes.h"

#include <shunt/core/dispatcher.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace diff {
namespace {

using parity::Rng;

bool elementwise(const shunt::FunctionSchema& schema) {
  return parity::isElementwise(parity::ruleFor(schema.name(), schema.overload_name()));
}

bool hasTensorInput(const shunt::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(),
                             [](const auto& a) { return a.type.kind == shunt::TypeKind::Tensor && !a.is_out(); });
}

bool makesSense(const shunt::OperatorHandle& op, Form form) {
  const shunt::FunctionSchema& schema = op.schema();
  if (form == Form::kAutocast) return op.hasKernelForDispatchKey(shunt::DispatchKey::AutocastCPU);
  const bool refuses_grad = (parity::ruleFor(schema.name(), schema.overload_name()).flags & parity::kNoGradForm) != 0;
  return form == Form::kPlain || (hasTensorInput(schema) && !schema.isOut() && !refuses_grad);
}

parity::Data contentsFor(unsigned flags, Rng& rng) {
  if (flags & parity::kProbabilities) return parity::Data::kUnitInterval;
  if (flags & parity::kCasts) return parity::Data::kSmallIntegers;
  return rng.chance(0.1) ? parity::Data::kSpecial : parity::Data::kReal;
}

/// New contents, everything else as it was: another case of the same plan. Integers may be indices or classes where the
/// operator isn't elementwise, and stay; random operators get another seed.
parity::Case refilled(parity::Case c, const shunt::FunctionSchema& schema, Rng& rng) {
  const unsigned flags = parity::ruleFor(schema.name(), schema.overload_name()).flags;
  for (parity::StorageSpec& s : c.storages) {
    if (!parity::isFloating(s.dtype) && (!elementwise(schema) || (flags & parity::kCasts))) continue;
    for (size_t at = 0; at < s.bytes.size(); at += parity::itemSize(s.dtype))
      parity::storeElement(s.dtype, parity::drawNumber(rng, s.dtype, contentsFor(flags, rng)), &s.bytes[at]);
  }
  c.gradient_seed = rng.next();
  c.integral_data = false;
  return c;
}

/// Whether the form makes a difference to the pair: a case of the form kGrad may have drawn no tensor that requires
/// grad.
bool ofForm(Form form, PairKey pair) {
  const auto keys = shunt::DispatchKeySet::fromRaw(pair.keys);
  if (form == Form::kGrad) return keys.has(shunt::DispatchKey::AutogradCPU);
  return form != Form::kAutocast || keys.has(shunt::DispatchKey::AutocastCPU);
}

void add(Group& group, const parity::Case& c, parity::Outcome outcome) {
  const bool leads = !outcome.threw && !group.expected.empty() && group.expected.front().threw;
  group.cases.insert(leads ? group.cases.begin() : group.cases.end(), c);
  group.expected.insert(leads ? group.expected.begin() : group.expected.end(), std::move(outcome));
}

}  // namespace

std::string Cell::flags(const Options& o) const {
  return "--seed " + std::to_string(o.seed) + " --op " + schema.operator_name().str() + " --dtype " +
         parity::dtypeName(dtype) + " --form " + toString(form);
}

std::vector<Cell> planCells(const Options& options) {
  std::vector<Cell> cells;
  for (const shunt::OperatorName& name : shunt::Dispatcher::singleton().getAllOpNames()) {
    const auto op = shunt::Dispatcher::singleton().findSchema(name);
    if (!op || typedCall(name.name, name.overload_name).run == nullptr || !parity::globMatches(options.op, name.str()))
      continue;
    for (const Form form : {Form::kPlain, Form::kGrad, Form::kAutocast}) {
      if (!makesSense(*op, form) || !parity::globMatches(options.form, toString(form))) continue;
      std::vector<int> dtypes = parity::allDtypes();
      if (form != Form::kPlain) std::erase_if(dtypes, [](int d) { return !parity::isFloating(d); });
      Rng rng(parity::hashOf(name.str() + toString(form), options.seed));
      rng.shuffle(dtypes);
      if (options.dtype == "*") dtypes.resize(std::min(dtypes.size(), static_cast<size_t>(options.dtypes)));
      for (const int dtype : dtypes)
        if (parity::globMatches(options.dtype, parity::dtypeName(dtype))) cells.push_back({op->schema(), dtype, form});
    }
  }
  if (options.cells == 0 || options.cells >= cells.size()) return cells;
  Rng rng(options.seed);
  rng.shuffle(cells);
  cells.erase(cells.begin() + static_cast<ptrdiff_t>(options.cells), cells.end());
  return cells;
}

std::vector<Group> drawGroups(const Cell& cell, const Options& options) {
  const size_t wanted = static_cast<size_t>(options.cases);
  const size_t pairs = static_cast<size_t>(options.pairs);
  Rng rng(parity::hashOf(cell.flags(options), 0));
  std::map<PairKey, Group> all;
  for (size_t i = 0; i < wanted * pairs; ++i) {
    const parity::Case c = parity::drawCase(cell.schema, cell.dtype, cell.form == Form::kGrad, i == 0, rng.next());
    RunResult r = run(c, cell.form);
    Group& group = all[r.pair];
    group.pair = r.pair;
    if (group.cases.size() < wanted) add(group, c, std::move(r.outcome));
  }
  std::vector<Group> groups;
  for (auto& [pair, group] : all) groups.push_back(std::move(group));
  // Those whose cases work and are of the form, the most frequent first.
  const auto rank = [&](const Group& g) {
    return std::tuple(g.expected.front().threw, !ofForm(cell.form, g.pair), -static_cast<int64_t>(g.cases.size()),
                      g.pair);
  };
  std::ranges::sort(groups, [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
  if (groups.size() > pairs) groups.resize(pairs);
  for (Group& group : groups)
    for (size_t i = 0; !group.expected.front().threw && group.cases.size() < wanted; ++i) {
      const parity::Case c = refilled(group.cases[i], cell.schema, rng);
      add(group, c, run(c, cell.form).outcome);
    }
  return groups;
}

}  // namespace diff
