#include "src/transforms/functionalize/forms.h"

#include "src/core/alias_sets.h"

#include <shunt/core/dispatcher.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>

namespace shunt::functional {
namespace {

constexpr std::array<std::string_view, 4> kOptions{"dtype", "layout", "device", "pin_memory"};

bool same(const Argument& a, const Argument& b) { return a.name == b.name && a.type == b.type; }

/// Position of the four arguments of a factory's options, or the number of arguments.
size_t optionsOf(const std::vector<Argument>& args) {
  for (size_t i = 0; i + kOptions.size() <= args.size(); ++i) {
    size_t k = 0;
    while (k < kOptions.size() && args[i + k].name == kOptions[k]) ++k;
    if (k == kOptions.size()) return i;
  }
  return args.size();
}

/// The argument of which a result is the value, or a view: one that is written.
std::optional<size_t> writtenArgumentOf(const FunctionSchema& schema, const Argument& result) {
  for (size_t i = 0; i < schema.arguments().size(); ++i)
    if (schema.arguments()[i].is_write() && detail::sharesAliasSet(schema.arguments()[i], result)) return i;
  return std::nullopt;
}

/// One for each written argument, and for each result that is none.
size_t resultsNeeded(const FunctionSchema& writing) {
  const auto& returns = writing.returns();
  const auto isNew = [&](const Argument& r) { return !writtenArgumentOf(writing, r); };
  return static_cast<size_t>(std::ranges::count_if(writing.arguments(), &Argument::is_write) +
                             std::ranges::count_if(returns, isNew));
}

std::optional<size_t> namedResult(const FunctionSchema& form, const std::string& name) {
  const auto& returns = form.returns();
  const auto found = std::ranges::find(returns, name, &Argument::name);
  return name.empty() || found == returns.end() ? std::nullopt : std::optional<size_t>(found - returns.begin());
}

/// See Note [Results of functional forms].
void matchResults(const FunctionSchema& writing, FunctionalForm& form) {
  const auto& args = writing.arguments();
  const auto& returns = writing.returns();
  const size_t n = args.size();
  std::vector<int> of(n + returns.size(), -1);  // of arguments, then of results
  std::vector<size_t> order;                    // positions in `of`
  std::vector<bool> placed(n);
  bool any_new = false;
  size_t last = 0, returned = 0;
  bool ascending = true;
  for (size_t r = 0; r < returns.size(); ++r) {
    const auto argument = writtenArgumentOf(writing, returns[r]);
    any_new |= !argument;
    if (!argument) {
      order.push_back(n + r);
    } else if (!placed[*argument]) {
      ascending = ascending && (returned == 0 || *argument > last);
      last = *argument;
      ++returned;
      placed[*argument] = true;
      order.push_back(*argument);
    }
  }
  const auto written = static_cast<size_t>(std::ranges::count_if(args, &Argument::is_write));
  if (!any_new && (ascending || returned < written)) order.clear(), placed.assign(n, false);
  for (size_t i = 0; i < n; ++i)
    if (args[i].is_write() && !placed[i]) order.push_back(i);
  const FunctionSchema& candidate = form.op.schema();
  bool named = true;
  for (const size_t at : order) named = named && namedResult(candidate, at < n ? args[at].name : returns[at - n].name);
  if (!named && !ascending && (any_new || returned == written)) return;
  for (size_t k = 0; k < order.size(); ++k) {
    const size_t at = order[k];
    const size_t result = named ? *namedResult(candidate, at < n ? args[at].name : returns[at - n].name) : k;
    of[at] = static_cast<int>(result);
  }
  for (size_t r = 0; r < returns.size(); ++r)
    if (const auto argument = writtenArgumentOf(writing, returns[r]); argument && returns[r].is_write())
      of[n + r] = of[*argument];
  form.of_argument.assign(of.begin(), of.begin() + static_cast<ptrdiff_t>(n));
  form.of_return.assign(of.begin() + static_cast<ptrdiff_t>(n), of.end());
}

/// FunctionalForm::from, or nothing when the arguments are others.
std::optional<std::vector<int>> match(const FunctionSchema& writing, const FunctionSchema& candidate) {
  if (candidate.is_mutable() || candidate.returns().size() < resultsNeeded(writing)) return std::nullopt;
  std::vector<int> read;
  for (size_t i = 0; i < writing.arguments().size(); ++i)
    if (!writing.arguments()[i].is_out()) read.push_back(static_cast<int>(i));
  const auto& args = candidate.arguments();
  size_t options = args.size();
  if (args.size() == read.size() + kOptions.size())
    options = optionsOf(args);
  else if (args.size() != read.size())
    return std::nullopt;
  std::vector<int> from;
  size_t at = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i >= options && i < options + kOptions.size()) {
      from.push_back(-1);
      continue;
    }
    if (at == read.size() || !same(writing.arguments()[static_cast<size_t>(read[at])], args[i])) return std::nullopt;
    from.push_back(read[at++]);
  }
  return from;
}

// "add_" and "add" give "add"; "__iand__" has no such form.
std::string plainName(const FunctionSchema& schema) {
  std::string name(schema.operator_name().baseName());
  if (schema.isInplace() && name.size() > 1 && !name.ends_with("__")) name.pop_back();
  return name;
}

bool returnsView(const FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(),
                     [](const Argument& r) { return r.hasAlias() && !r.is_write(); });
}

std::unique_ptr<FunctionalForm> find(const OperatorHandle& op) {
  const FunctionSchema& schema = op.schema();
  if (!schema.is_mutable()) return nullptr;
  const std::string name = plainName(schema);
  std::unique_ptr<FunctionalForm> unclear;
  const Dispatcher& dispatcher = Dispatcher::singleton();
  for (const std::string& full : {detail::str(schema.getNamespace().value_or(""), "::", name), "functional::" + name})
    for (const OperatorName& known : dispatcher.getAllOpNames()) {
      if (known.name != full) continue;
      const auto candidate = dispatcher.findSchema(known);
      if (!candidate) continue;
      auto from = match(schema, candidate->schema());
      if (!from) continue;
      auto form = std::make_unique<FunctionalForm>(
          FunctionalForm{*candidate, std::move(*from), returnsView(candidate->schema()), {}, {}});
      matchResults(schema, *form);
      if (!form->of_argument.empty()) return form;
      unclear = std::move(form);
    }
  return unclear;
}

bool stillFits(const OperatorHandle& op, const FunctionalForm& form) {
  if (!form.op.hasSchema()) return false;
  const FunctionSchema &writing = op.schema(), &candidate = form.op.schema();
  if (!writing.is_mutable() || match(writing, candidate) != form.from || returnsView(candidate) != form.is_view)
    return false;
  FunctionalForm now{form.op, {}, form.is_view, {}, {}};
  matchResults(writing, now);
  return now.of_argument == form.of_argument && now.of_return == form.of_return;
}

}  // namespace

const FunctionalForm* functionalForm(const OperatorHandle& op) {
  // By thread, so without a lock. Both operators may be taken back and defined anew with other arguments, hence the
  // second look.
  // On the heap: a program that loads libshunt has little room for thread-locals.
  using Forms = std::unordered_map<const Operator*, std::unique_ptr<FunctionalForm>>;
  static thread_local const auto known = std::make_unique<Forms>();
  std::unique_ptr<FunctionalForm>& form = (*known)[&op.op()];
  if (form == nullptr || !stillFits(op, *form)) form = find(op);
  return form.get();
}

std::optional<OperatorHandle> scatterOf(const OperatorHandle& view) {
  const FunctionSchema& schema = view.schema();
  const auto candidate = Dispatcher::singleton().findSchema({schema.name() + "_scatter", ""});
  if (!candidate) return std::nullopt;
  const auto& args = schema.arguments();
  const auto& with_part = candidate->schema().arguments();
  if (with_part.size() != args.size() + 1 || args.empty() || !same(args[0], with_part[0])) return std::nullopt;
  for (size_t i = 1; i < args.size(); ++i)
    if (!same(args[i], with_part[i + 1])) return std::nullopt;
  return candidate;
}

}  // namespace shunt::functional
