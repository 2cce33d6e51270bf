#include "tests/world/model_explorer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <stdexcept>

#include "tests/world/state_table.h"

namespace shunt::world::model {
namespace {

constexpr const char* kOpNames[] = {"load",   "store",    "exchange", "membarrier", "lock",
                                    "unlock", "allocate", "inspect",  "join",       "end"};
constexpr const char* kStepNames[] = {"",      "(the compiler holds back) ", "does the held store", "flush", "fenced",
                                      "signal"};

}  // namespace

struct Explorer::Impl : Machine {
  SystemState start;
  StateTable table;
  std::vector<Step> path;
  size_t transitions = 0, ends = 0, known_surprises = 0;
  bool reduce = true;

  // ---- what need not be explored: see Note [What is not explored twice] ----
  struct Threads {
    int active[kMaxThreads];
    Footprint now[kMaxThreads];  // of the steps that the thread has
    Footprint future[kMaxThreads];
  };

  void addBuffer(const State& s, int thread, Footprint& f) const {
    for (int i = 0; i < s.buffer[thread].size; ++i) f.writeBuffered(s.buffer[thread].location[i], thread);
  }
  // Of the program's next operation if it can be done now, with what it tells the oracle.
  Footprint opFootprint(const State& s, int c) {
    Footprint f;
    const int thread = programs[c].thread;
    const Op op = nodeOf(s, c).op;
    if (op.kind == OpKind::kBarrier) {
      for (int t = 0; t < kMaxThreads; ++t)
        if (s.barrier_left & bit(t)) {
          f.drain(t);
          addBuffer(s, t, f);
        }
      if (s.barrier_left != 0 || !s.barrier_running) return f;
    } else if (!enabled(s, c)) {
      return f;
    } else if (op.kind == OpKind::kStore && (accessors[op.location] & ~bit(thread))) {
      f.drain(thread);  // the location itself is written by the flush
    } else if (op.kind == OpKind::kUnlock) {
      f.drain(thread);
    } else {
      f.add(op, thread);
    }
    for (const Mark& m : nodeOf(s, c).before) f.add(m);
    for (const Mark& m : automata[c].follow(s.context[c].node, expectedResult(s, c, op)).after) f.add(m);
    return f;
  }
  Value expectedResult(const State& s, int c, const Op& op) {
    switch (op.kind) {
      case OpKind::kLoad:
      case OpKind::kExchange:
        return read(s, op.location, programs[c].thread);
      case OpKind::kLock:
        return s.retired;
      case OpKind::kBarrier:
        return Names::current().intern(1);
      case OpKind::kAllocate: {
        State copy = s;
        return allocateSlot(copy, op.value);
      }
      case OpKind::kInspect:
        return contentOf(s, op);
      default:
        return 0;
    }
  }
  void analyse(const State& s, Threads& a) {
    for (int t = 0; t < kMaxThreads; ++t) {
      a.active[t] = activeOn(s, t);
      a.now[t] = a.future[t] = {};
      addBuffer(s, t, a.now[t]);
      if (a.active[t] >= 0) a.now[t] |= opFootprint(s, a.active[t]);
    }
    for (size_t c = 0; c < programs.size(); ++c) {
      const auto& ctx = s.context[c];
      const int t = programs[c].thread;
      if (ctx.held) a.now[t].writeBuffered(ctx.held - 1, t);
      const bool can_run = ctx.status == kRunning || (ctx.status == kIdle && a.active[t] >= 0);
      if (can_run) a.future[t] |= automata[c].future(ctx.node);
    }
    uint64_t buffered = 0;
    for (int t = 0; t < kMaxThreads; ++t) {
      a.future[t] |= a.now[t];
      buffered |= a.future[t].buffered;
    }
    for (auto& f : a.future)
      if (f.barrier) f.writes |= buffered;
  }
  // Whether `thread` cannot move while the threads of `still` don't.
  bool stuck(const State& s, const Threads& a, int thread, unsigned still) const {
    if (a.active[thread] < 0 || s.buffer[thread].size != 0 || signalPending(s, thread)) return false;
    const OpKind op = nodeOf(s, a.active[thread]).op.kind;
    if (op == OpKind::kLock) return s.locked != 0 && (still >> (s.locked - 1) & 1);
    if (op != OpKind::kJoin) return false;
    for (int t = 0; t < kMaxThreads; ++t)
      if (t != thread && (still >> t & 1) && (a.active[t] >= 0 || s.buffer[t].size != 0)) return true;
    return false;
  }
  // A thread whose step could enable the blocked operation of `thread`, or -1.
  int enabler(const State& s, const Threads& a, int thread) const {
    if (a.active[thread] < 0) return -1;
    const OpKind op = nodeOf(s, a.active[thread]).op.kind;
    if (op == OpKind::kLock && s.locked != 0) return s.locked - 1;
    if (op == OpKind::kJoin)
      for (int t = 0; t < kMaxThreads; ++t)
        if (t != thread && (a.active[t] >= 0 || s.buffer[t].size != 0)) return t;
    return -1;
  }
  unsigned closure(const State& s, const Threads& a, int first) const {
    unsigned set = 1u << first;
    for (bool grew = true; grew;) {
      const unsigned before = set;
      for (int t = 0; t < kMaxThreads; ++t) {
        if (!(set >> t & 1)) continue;
        if (const int e = enabler(s, a, t); e >= 0) set |= 1u << e;
        for (int u = 0; u < kMaxThreads; ++u)
          if (!(set >> u & 1) && a.now[t].conflicts(a.future[u]) && !stuck(s, a, u, set)) set |= 1u << u;
      }
      grew = set != before;
    }
    return set;
  }

  // An operation on what no other thread touches commutes with everything, also with its own thread's flushes.
  bool commutes(const State& s, const Threads& a, int thread) const {
    const int c = a.active[thread];
    const auto& node = nodeOf(s, c);
    if (s.context[c].held || !node.before.empty() || signalPending(s, thread)) return false;
    if (node.op.kind != OpKind::kLoad &&
        !(node.op.kind == OpKind::kStore && !(accessors[node.op.location] & ~bit(thread))))
      return false;
    Footprint op = a.now[thread];
    op.writes &= uint64_t{1} << node.op.location;
    return !conflictsElsewhere(a, thread, op);
  }
  // The same for the flush of the oldest entry, if whoever reads the location passes a barrier first, which would flush
  // it.
  bool flushCommutes(const State& s, const Threads& a, int thread) const {
    if (s.buffer[thread].size == 0) return false;
    Footprint f;
    f.write(s.buffer[thread].location[0]);
    for (int u = 0; u < kMaxThreads; ++u) {
      if (u == thread) continue;
      uint64_t seen = a.future[u].unguarded_reads;
      const int c = a.active[u];
      if (c >= 0 && nodeOf(s, c).op.kind == OpKind::kBarrier && s.barrier_running && !(s.barrier_left & bit(thread)))
        seen = a.future[u].reads;
      // Writes of the location through a barrier are this very flush.
      const uint64_t written = a.future[u].writes & ~(a.future[u].barrier ? a.future[thread].buffered : 0);
      if (f.writes & (seen | written)) return false;
    }
    return true;
  }
  // While `thread` stands still unfenced, the barrier's caller can only fence others, and who waits for its lock waits.
  bool meetsBarrierAlone(const State& s, const Threads& a, int thread) const {
    int caller = -1;
    for (int u = 0; u < kMaxThreads; ++u)
      if (a.active[u] >= 0 && nodeOf(s, a.active[u]).op.kind == OpKind::kBarrier) caller = u;
    Footprint fences;
    for (int u = 0; u < kMaxThreads; ++u)
      if (u != thread && (s.barrier_left & bit(u))) fences.writes |= a.future[u].buffered;
    if (a.now[thread].conflicts(fences) || enabler(s, a, thread) >= 0) return false;
    for (int u = 0; u < kMaxThreads; ++u)
      if (u != thread && u != caller && a.now[thread].conflicts(a.future[u]) &&
          !stuck(s, a, u, 1u << caller | 1u << thread))
        return false;
    return true;
  }
  static bool conflictsElsewhere(const Threads& a, int thread, const Footprint& f) {
    for (int u = 0; u < kMaxThreads; ++u)
      if (u != thread && f.conflicts(a.future[u])) return true;
    return false;
  }

  void steps(const State& s, Steps& out) {
    out.clear();
    Threads a;
    analyse(s, a);
    if (!reduce) {
      for (int t = 0; t < kMaxThreads; ++t) threadSteps(s, t, a.active[t], out);
      return;
    }
    for (int t = 0; t < kMaxThreads; ++t) {
      if (a.active[t] >= 0 && commutes(s, a, t)) {
        const auto c = static_cast<uint8_t>(a.active[t]);
        out.assign(1, {StepKind::kOp, c, nodeOf(s, c).op});
        return;
      }
      if (flushCommutes(s, a, t)) {
        out.assign(1, {StepKind::kFlush, static_cast<uint8_t>(t), {}});
        return;
      }
    }
    Steps best, candidate;
    for (int t = 0; t < kMaxThreads; ++t)
      if (s.barrier_left & bit(t) && meetsBarrierAlone(s, a, t)) {
        threadSteps(s, t, a.active[t], out);
        out.push_back({StepKind::kFence, static_cast<uint8_t>(t), {}});
        return;
      }
    for (int t = 0; t < kMaxThreads; ++t) {
      candidate.clear();
      const unsigned set = closure(s, a, t);
      for (int u = 0; u < kMaxThreads; ++u)
        if (set >> u & 1) threadSteps(s, u, a.active[u], candidate);
      if (!candidate.empty() && (best.empty() || candidate.size() < best.size())) best.swap(candidate);
    }
    out.swap(best);
  }

  size_t surprises() const {
    size_t n = 0;
    for (const Automaton& a : automata) n += a.surprises();
    return n;
  }

  // Learns what the programs can do; a violation is left for the exploration to find.
  void walk(uint64_t seed) {
    constexpr int kWalks = 4000;
    std::mt19937_64 random(seed);
    for (int i = 0; i < kWalks; ++i) {
      State s = start;
      Steps todo;
      try {
        for (;;) {
          todo.clear();
          for (int t = 0; t < kMaxThreads; ++t) threadSteps(s, t, activeOn(s, t), todo);
          if (todo.empty()) break;
          apply(s, todo[random() % todo.size()]);
        }
      } catch (const Restart&) {
        relied = {};
      } catch (const Violation&) {
      }
    }
  }

  double visit(const State& s) {
    const Fingerprint f = fingerprint(&s, sizeof s);
    if (const double known = table.find(f); known != StateTable::kAbsent) {
      if (known == StateTable::kOpen) throw std::logic_error("the model's state graph has a cycle");
      return known;
    }
    table.set(f, StateTable::kOpen);
    Steps todo;
    steps(s, todo);
    if (surprises() != known_surprises) throw Restart{};
    double paths = 0;
    if (todo.empty()) {
      if (!othersEnded(s, -1)) fail("deadlock");
      paths = 1;
      ++ends;
    }
    // No order is better than another; this one finds violations soon.
    if (todo.size() > 1) std::rotate(todo.begin(), todo.begin() + static_cast<long>(f.a % todo.size()), todo.end());
    for (const Step& step : todo) {
      State next = s;
      path.push_back(step);
      ++transitions;
      apply(next, step);
      paths += visit(next);
      path.pop_back();
    }
    table.set(f, paths);
    return paths;
  }

  std::string trace() const {
    std::string text;
    const Names& names = Names::current();
    for (const Step& step : path) {
      const bool thread_step = step.kind == StepKind::kFlush || step.kind == StepKind::kFence;
      text += "\n  " + (thread_step ? "thread " + std::to_string(step.who) : programs[step.who].name) + ": ";
      text += kStepNames[static_cast<int>(step.kind)];
      if (step.kind != StepKind::kOp && step.kind != StepKind::kHoldStore) continue;
      text += kOpNames[static_cast<int>(step.op.kind)];
      if (step.op.kind > OpKind::kExchange) continue;
      text += " " + names.location(step.op.location);
      const uint64_t raw = names.raw(step.op.value);
      if (step.op.kind == OpKind::kLoad) continue;
      text += " <- " + (raw < 16 ? std::to_string(raw) : "address " + std::to_string(step.op.value));
    }
    return text;
  }
};

Explorer::Explorer(std::vector<Program> programs, const std::vector<Initial>& operators)
    : impl_(std::make_unique<Impl>()) {
  if (programs.size() > kMaxPrograms) throw std::length_error("too many programs for the model");
  Impl& m = *impl_;
  m.programs = std::move(programs);
  std::memset(&m.start, 0, sizeof m.start);
  for (size_t c = 0; c < m.programs.size(); ++c) {
    if (m.programs[c].thread >= kMaxThreads) throw std::length_error("too many threads for the model");
    m.automata.emplace_back(static_cast<int>(c), m.programs[c].thread, m.programs[c].run);
    m.start.context[c].status = m.programs[c].handler ? kIdle : kRunning;
  }
  Names& names = Names::current();
  for (int i = 0; i < names.numLocations(); ++i) m.start.memory[i] = names.initial(i);
  m.operators = static_cast<int>(operators.size());
  for (const Initial& op : operators) {
    const uint8_t slot = ++m.start.last_generation;
    m.start.memory[op.location] = names.intern(std::bit_cast<uintptr_t>(names.slot(slot)));
    m.start.slot_generation[slot] = m.start.published_generation[op.content.owner] = slot;
    m.start.slot_content[slot] = op.content.packed();
    if (op.content.owner == Content::kInner) m.start.returned_version = m.start.met_version = op.content.version;
  }
}
Explorer::~Explorer() = default;

Outcome Explorer::explore(bool reduce) {
  Impl& m = *impl_;
  m.reduce = reduce;
  m.walk(/*seed=*/1);
  for (Automaton& a : m.automata) a.expectAnything();
  Outcome out;
  for (bool again = true; again;) {
    again = false;
    m.table.clear();
    m.path.clear();
    m.transitions = m.ends = 0;
    m.relied = {};
    m.known_surprises = m.surprises();
    try {
      out.interleavings = m.visit(m.start);
    } catch (const Restart&) {
      again = true;
    } catch (const Violation& v) {
      out.violation = v.text + m.trace();
    }
  }
  out.states = m.table.size();
  out.transitions = m.transitions;
  out.ends = m.ends;
  for (const auto& a : m.automata) out.histories += a.size();
  return out;
}

}  // namespace shunt::world::model
