#include "src/compile/checked_run.h"

#include "src/autograd/storage_and_grad.h"
#include "src/base/errors_heard.h"
#include "src/compile/backward/contributions.h"
#include "src/compile/first_operator.h"
#include "src/transforms/autocast/cast_cache.h"

#include <shunt/core/interrupt.h>
#include <shunt/ops.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace shunt::compiled {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kNoException = "what is no std::exception";

/// Of a result among given tensors and the results before it: the first one that it is, and that it shares memory with.
struct Place {
  size_t same, home;
  bool operator==(const Place&) const = default;
};

template <class GivenAt>
Place placeOf(const detail::CompileOutputs& results, size_t i, size_t given, const GivenAt& givenAt) {
  const auto at = [&](size_t k) -> const Tensor& { return k < given ? givenAt(k) : results[k - given]; };
  const Tensor& t = results[i];
  const StorageImpl* const mine = autograd::storageOf(t);
  Place out{0, 0};
  while (out.same < given + i && !at(out.same).is_same(t)) ++out.same;
  while (out.home < given + i && (mine == nullptr || autograd::storageOf(at(out.home)) != mine)) ++out.home;
  return out;
}

/// Numbers that every dtype holds as they are, in one of the ways in which gradients mostly lie.
Tensor gradientFor(const Tensor& result, uint64_t number) {
  const NoGradGuard no_grad;
  const bool is_expanded = number % 3 == 2;
  const Tensor numbers(detail::makeCpuTensor(is_expanded ? IntArrayRef() : result.sizes(), {}, kFloat));
  auto* const p = reinterpret_cast<float*>(numbers.unsafeGetTensorImpl()->data());
  for (int64_t i = 0; i < numbers.numel(); ++i) p[i] = static_cast<float>((i * 37 + 11) % 64 - 31) / 16;
  const Tensor plain = numbers.to(result.dtype()).to(result.device());
  if (is_expanded) return plain.expand(result.sizes());
  if (number % 3 == 1 || result.is_contiguous()) return plain;
  Tensor out = ops::empty_strided::call(result.sizes(), result.strides(), result.dtype(), std::nullopt, result.device(),
                                        std::nullopt);
  return result.is_non_overlapping_and_dense() ? out.copy_(plain) : plain;
}

/// As backward passes mostly run. Under autocast a compiled one would run the graph again, on what it was recorded
/// with.
class AutocastOff {
 public:
  AutocastOff() : keys_(kAutocastKeys), nesting_(std::exchange(::shunt::detail::tls_state.autocast_nesting, 0)) {}
  ~AutocastOff() { ::shunt::detail::tls_state.autocast_nesting = nesting_; }
  AutocastOff(const AutocastOff&) = delete;
  AutocastOff& operator=(const AutocastOff&) = delete;

 private:
  const ExcludeDispatchKeyGuard keys_;
  const int32_t nesting_;
};

struct Gradients {
  std::vector<Tensor> of;  // the given tensors
  std::optional<std::string> error = {};
  int64_t ns = 0;  // that it has taken
};

int64_t since(Clock::time_point began) { return std::chrono::nanoseconds(Clock::now() - began).count(); }

Gradients gradientsFor(const Tensor& result, const Tensor& gradient, const std::vector<Tensor>& leaves) {
  Gradients out{std::vector<Tensor>(leaves.size())};
  try {
    const detail::ErrorsHeard aside;
    const Clock::time_point began = Clock::now();
    gradientsOf(result, gradient, leaves, [&](size_t leaf, Tensor&& t) { out.of[leaf] = std::move(t); });
    out.ns = since(began);
  } catch (const Interrupt&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    out.error = e.what();
  } catch (...) {
    out.error = kNoException;
  }
  return out;
}

std::string withShape(const char* what, const Tensor& t, const std::string& found) {
  return detail::str(what, " a tensor of shape ", t.sizes(), ": ", found);
}

std::unordered_set<const StorageImpl*> memoryOf(const std::vector<StandIns::Pair>& given) {
  std::unordered_set<const StorageImpl*> out;
  for (const StandIns::Pair& p : given) {
    out.insert(autograd::storageOf(p.real));
    if (const Tensor* grad = autograd::gradOf(p.real)) out.insert(autograd::storageOf(*grad));
  }
  return out;
}

bool drawsRandom(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Graph::Node* n) { return drawsRandomNumbers(n->op); });
}

}  // namespace

CheckedRun::CheckedRun(const Variant& variant, const detail::CompileArguments& arguments, uint64_t number)
    : variant_(variant), arguments_(arguments), number_(number) {
  try {
    for (const Tensor* t : arguments.tensors)
      if (t->defined()) inputs_.push_back(t);
    stand_ins_.emplace(variant.graph, inputs_);
    for (const StandIns::Pair& p : stand_ins_->all()) {
      const Tensor* grad = autograd::gradOf(p.real);
      const StorageImpl& storage = *autograd::storageOf(p.real);
      before_.push_back({versionOf(p.real), p.real.requires_grad(),
                         grad != nullptr ? grad->unsafeGetTensorImpl() : nullptr,
                         grad != nullptr ? versionOf(*grad) : 0, p.real.sizes().vec(), p.real.strides().vec(),
                         p.real.storage_offset(), &storage, storage.data(), storage.nbytes()});
    }
    generators_ = generatorsOf(variant.graph);
    runGraph();
  } catch (const Interrupt&) {
    throw;
  } catch (const std::exception&) {  // no memory
    stand_ins_.reset();
  }
}

void CheckedRun::runGraph() {
  detail::CompileArguments apart{{}, {}, arguments_.types};
  for (const Tensor* t : arguments_.tensors) apart.tensors.push_back(t->defined() ? &stand_ins_->of(*t) : t);
  const autocast::CastCacheAside casts;
  const detail::ErrorsHeard aside;
  const detail::GeneratorsAside generators(generators_);
  begun_ = generators.begun();
  const Clock::time_point began = Clock::now();
  try {
    outputs_ = variant_.runApart(apart, *stand_ins_);
  } catch (const Interrupt&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const trace_detail::OtherResults& e) {
    other_results_.emplace(e.what(), true);  // it has written to copies
  } catch (const std::exception& e) {
    error_ = e.what();
  } catch (...) {
    error_ = kNoException;
  }
  graph_ns_ = static_cast<uint64_t>(since(began));
  positions_ = generators.positions();
}

detail::CompileOutputs CheckedRun::run(FunctionRef<detail::CompileOutputs()> function) {
  const auto takesApart = [](const OperatorHandle& op) { return isRecordedInParts(op); };
  std::optional<detail::GeneratorsWatched> watched;
  std::optional<trace_detail::Witness> witness;
  try {
    if (stand_ins_) {
      watched.emplace(generators_, begun_);
      // As many calls as are looked at to name the first that differs.
      witness.emplace(takesApart, memoryOf(stand_ins_->all()), variant_.graph.nodes().size() + 1);
    }
  } catch (const std::exception&) {  // no memory
    watched.reset();
  }
  if (!witness) return function();
  detail::CompileOutputs outputs;
  try {
    outputs = function();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    noteThrown(e.what());
    throw;
  } catch (...) {
    noteThrown(nullptr);
    throw;
  }
  met_others_ = watched->metOthers() && drawsRandom(variant_.graph);
  try {
    const Seen seen{witness->takeCalls(), witness->writesUnknown(), witness->isComplete(), watched->positions()};
    witness.reset();
    watched.reset();
    compare(outputs, seen);
  } catch (const Interrupt&) {
    throw;
  } catch (const std::exception&) {  // no memory
  }
  return outputs;
}

/// `what`: null of what is no exception of the standard library's.
void CheckedRun::noteThrown(const char* what) noexcept try {
  if (outputs_)
    difference_ = detail::str("the function throws, and the graph doesn't", what != nullptr ? ": " : "",
                              what != nullptr ? what : "");
  was_compared_ = true;
} catch (const std::exception&) {  // no memory
}

void CheckedRun::compare(const detail::CompileOutputs& function, const Seen& seen) {
  difference_ = differenceOfAll(function, seen);
  was_compared_ = seen.is_complete || !difference_.empty();
  if (difference_.empty() || !seen.is_complete) return;
  const std::string first = firstOtherOperator(variant_.graph, inputs_, seen.calls);
  if (!first.empty()) difference_ += ". The first operator that differs is " + first;
}

std::string CheckedRun::differenceOfAll(const detail::CompileOutputs& function, const Seen& seen) {
  // Where the graph does nothing else, the function runs in any case.
  if (other_results_) return "";
  if (!outputs_) return variant_.has_effects ? "the graph throws, and the function doesn't: " + error_ : "";
  if (std::string found = differenceOfMemory(); !found.empty()) return found;
  if (std::string found = differenceOfResults(function); !found.empty()) return found;
  if (std::string found = differenceOfGiven(); !found.empty()) return found;
  if (seen.drawn != positions_) return "the random numbers that were drawn";
  if (seen.writes_unknown)
    return detail::str("what is written: ", seen.writes_unknown->operator_name(),
                       " writes a tensor that the graph knows nothing of");
  return differenceOfGradients(function);
}

/// Comes first: stand-ins of what the graph doesn't write have borrowed it.
std::string CheckedRun::differenceOfMemory() const {
  const std::vector<StandIns::Pair>& given = stand_ins_->all();
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].is_copy) continue;
    const StorageImpl* storage = autograd::storageOf(given[i].real);
    const Before& before = before_[i];
    if (storage == nullptr || storage != before.storage || storage->data() != before.memory ||
        storage->nbytes() != before.bytes)
      return withShape("the memory of", given[i].real, "the function puts it elsewhere");
  }
  return "";
}

std::string CheckedRun::differenceOfResults(const detail::CompileOutputs& function) const {
  const detail::CompileOutputs& graph = *outputs_;
  if (graph.size() != function.size())
    return detail::str("how many tensors they return: ", graph.size(), " and ", function.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const std::string found = differenceOfResult(i, function);
    if (found.empty()) continue;
    const Graph::Value* made = variant_.graph.outputs()[i];
    const bool is_made = made != nullptr && made->node != nullptr;
    return detail::str("result ", i, is_made ? ", which " + made->node->name() + " gives" : "", ": ", found);
  }
  return "";
}

std::string CheckedRun::differenceOfResult(size_t i, const detail::CompileOutputs& function) const {
  const std::vector<StandIns::Pair>& given = stand_ins_->all();
  const Tensor &mine = (*outputs_)[i], &its = function[i];
  if (!mine.defined() || !its.defined()) return differenceOf(mine, its);
  const Place place = placeOf(*outputs_, i, given.size(), [&](size_t k) -> const Tensor& { return given[k].stand_in; });
  const Place wanted = placeOf(function, i, given.size(), [&](size_t k) -> const Tensor& { return given[k].real; });
  // What nobody has written may be read by both.
  const bool is_unwritten = place.home < given.size() && !given[place.home].is_copy;
  const bool is_read = !(is_unwritten && place == wanted && mine.sizes().equals(its.sizes()) &&
                         mine.strides().equals(its.strides()) && mine.storage_offset() == its.storage_offset());
  if (std::string found =
          is_read ? differenceOf(mine, its) : differenceOfGrad(mine.requires_grad(), its.requires_grad());
      !found.empty())
    return found;
  if (place != wanted) return "it shares memory with other tensors than the function's";
  if (mine.is_leaf() != its.is_leaf()) return its.is_leaf() ? "it is no leaf" : "it is a leaf";
  if (versionOf(mine) == versionOf(its)) return "";
  return detail::str("its version is ", versionOf(mine), ", expected ", versionOf(its));
}

std::string CheckedRun::differenceOfGiven() const {
  const std::vector<StandIns::Pair>& given = stand_ins_->all();
  for (size_t i = 0; i < given.size(); ++i)
    if (std::string found = differenceOfGiven(given[i], before_[i]); !found.empty()) return found;
  return "";
}

std::string CheckedRun::differenceOfGiven(const StandIns::Pair& pair, const Before& before) const {
  const auto& [real, stand_in, is_copy] = pair;
  const auto differsInVersion = [&](uint32_t mine) {
    return mine == versionOf(real) ? "" : detail::str("it is ", mine, ", expected ", versionOf(real));
  };
  if (is_copy) {
    if (const std::string found = differenceOf(stand_in, real); !found.empty())
      return withShape("what is written to", real, found);
  } else if (!real.sizes().equals(before.sizes) || !real.strides().equals(before.strides) ||
             real.storage_offset() != before.offset || real.requires_grad() != before.requires_grad) {
    return withShape("the sizes, strides or gradient of", real, "the function changes them");
  }
  if (const std::string found = differsInVersion(is_copy ? versionOf(stand_in) : before.version); !found.empty())
    return withShape("the version of", real, found);
  const Tensor *mine = autograd::gradOf(stand_in), *its = autograd::gradOf(real);
  if (stand_ins_->hasGrads()) {
    const std::string found = differenceOf(mine != nullptr ? *mine : Tensor(), its != nullptr ? *its : Tensor());
    return found.empty() ? "" : withShape("the grad of", real, found);
  }
  const bool is_as_before = its == nullptr
                                ? before.grad == nullptr
                                : its->unsafeGetTensorImpl() == before.grad && versionOf(*its) == before.grad_version;
  return is_as_before ? "" : withShape("the grad of", real, "the function changes it");
}

std::string CheckedRun::differenceOfGradients(const detail::CompileOutputs& function) {
  // Then its own history has gone on, and no longer says where gradients end.
  const auto isWrittenWithHistory = [](const StandIns::Pair& p) { return p.is_copy && !p.real.is_leaf(); };
  if (std::ranges::any_of(stand_ins_->all(), isWrittenWithHistory)) return "";
  const AutocastOff off;
  BackwardNs took;
  for (size_t i = 0; i < function.size(); ++i)
    if (function[i].defined() && function[i].requires_grad() && !function[i].is_leaf() && variant_.ended[i].empty())
      if (std::string found = differenceOfGradients(i, function[i], took); !found.empty()) return found;
  if (took.all_ran && took.graph > 0 && took.function > 0) backward_ns_ = took;
  return "";
}

std::string CheckedRun::differenceOfGradients(size_t i, const Tensor& function, BackwardNs& took) const {
  const std::vector<StandIns::Pair>& given = stand_ins_->all();
  std::vector<Tensor> real, stand_ins;
  for (const StandIns::Pair& p : given) {
    if (!p.real.requires_grad() || p.real.is_same(function)) continue;
    real.push_back(p.real);
    stand_ins.push_back(p.stand_in);
  }
  const Tensor gradient = gradientFor(function, number_);
  const Gradients mine = gradientsFor((*outputs_)[i], gradient, stand_ins);
  const Gradients its = gradientsFor(function, gradient, real);
  took.graph += mine.ns;
  took.function += its.ns;
  took.all_ran = took.all_ran && !mine.error && !its.error;
  const std::string of = detail::str("the backward pass of result ", i, ": ");
  if (mine.error && variant_.backward != nullptr) return "";  // a gradient that it has no pass for
  if (mine.error.has_value() != its.error.has_value())
    return of + (mine.error ? "the graph's throws: " + *mine.error : "the function's throws: " + *its.error);
  for (size_t k = 0; k < real.size() && !mine.error; ++k)
    if (const std::string found = differenceOf(mine.of[k], its.of[k]); !found.empty())
      return of + withShape("the gradient of", real[k], found);
  return "";
}

}  // namespace shunt::compiled
