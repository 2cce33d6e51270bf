// SHUNT_TRACE: every dispatch step, by default one line each on stderr, for people or as JSON.
#include "src/dispatch/trace.h"
#include "src/dispatch/changes.h"
#include "src/dispatch/profile.h"

#include "src/dispatch/state_in_use.h"
#include "src/dispatch/thunk.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/environment.h>

#include <nlohmann/json.hpp>

#include <cstdio>

namespace shunt {
namespace detail {

namespace {

std::atomic<StepNote> step_note{nullptr};

std::string noteOf(const TraceStep& step) {
  const StepNote note = step_note.load(std::memory_order_acquire);
  return note != nullptr ? note(*StateInUse(step.op.op()), step.keys) : "";
}

/// One call of fputs a line, so that lines of several threads don't mix.
void printStep(const TraceStep& step) {
  const std::string note = noteOf(step);
  const std::string line =
      str("shunt: ", std::string(2 * static_cast<size_t>(step.depth), ' '), step.kind, " ", step.op.operator_name(),
          " keys={", step.keys, "} -> ", step.key, " [", step.reason, note.empty() ? "" : ": " + note, "]\n");
  std::fputs(line.c_str(), stderr);
}

void printStepAsJson(const TraceStep& step) {
  using Json = nlohmann::ordered_json;
  Json line{{"kind", step.kind},     {"op", step.op.operator_name().str()},
            {"keys", Json::array()}, {"key", toString(step.key)},
            {"reason", step.reason}, {"depth", step.depth}};
  for (DispatchKey key : step.keys.keys()) line["keys"].push_back(toString(key));
  if (std::string note = noteOf(step); !note.empty()) line["mode"] = std::move(note);
  std::fputs((line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n").c_str(), stderr);
}

struct TraceSetting {
  bool on;
  TraceSink sink;
};

TraceSetting traceFromEnvironment() {
  const environment::Value value = environment::read(environment::Variable::kTrace);
  return {!value.isFlag(false), value.isWord("json") ? &printStepAsJson : &printStep};
}

const TraceSetting from_environment = traceFromEnvironment();

/// What null restores.
std::atomic<TraceSink> trace_sink{from_environment.sink};

}  // namespace

std::atomic<bool> trace_enabled{from_environment.on};

std::atomic<bool> boxed_calls_are_watched{from_environment.on || profile::isOn()};

void setStepNote(StepNote note) { step_note.store(note, std::memory_order_release); }

void traceStep(const char* kind, const OpState& state, DispatchKeySet ks) {
  trace_sink.load(std::memory_order_acquire)(TraceStep{kind, OperatorHandle(*state.op()), ks, ks.highestPriorityKey(),
                                                       toString(state.lookup(ks).reason), threadFrames().depth()});
}

}  // namespace detail

void set_trace(bool on, TraceSink sink) {
  detail::trace_sink.store(sink != nullptr ? sink : detail::from_environment.sink, std::memory_order_release);
  detail::trace_enabled.store(on, std::memory_order_relaxed);
  detail::boxed_calls_are_watched.store(on || profile::isOn(), std::memory_order_relaxed);
  detail::table_changes.fetch_add(1, std::memory_order_release);
}

}  // namespace shunt
