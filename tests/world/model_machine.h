// The machine that the model's programs run on: its state, what can happen in it, and the oracle that watches.
//
// Note [The model's machine]
// Hardware threads run programs; a signal handler is a program that runs on its caller's hardware thread, at any one of
// the caller's steps, to its end. What may happen, each as a step of its own:
//   - an operation of a running program; a store goes to the hardware thread's buffer (FIFO), a load reads the newest
//     buffered value of its own thread, else memory; exchange and lock wait for an empty buffer;
//   - the oldest entry of a buffer reaches memory;
//   - the compiler's part: a store is held back and done later, past loads and relaxed stores to other places, but
//     never past a signal fence, a release store, an exchange, a lock or a barrier;
//   - membarrier reaches another thread and drains its buffer: one thread after another, then it returns;
//   - the signal arrives.
// A freed state's address is given out again by the next allocation, so equal pointers may be different states.
//
// Copyable states, one machine; used from one thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "tests/world/model_automaton.h"

namespace shunt::world::model {

struct Program {
  std::string name;
  int thread;    // hardware thread
  bool handler;  // a signal handler on that thread
  std::function<void()> run;
};

inline constexpr int kMaxPrograms = 7, kMaxBuffered = 12, kMaxNesting = 3;

/// One state of the whole system; no padding, so its bytes are its identity.
struct SystemState {
  struct Buffer {
    uint8_t size;
    uint8_t location[kMaxBuffered];
    uint8_t value[kMaxBuffered];
  };
  struct Context {
    uint16_t node;
    uint8_t status;              // ContextStatus
    uint8_t held, held_value;    // a store held back: 1 + its location, or 0
    uint8_t calls;               // in flight
    uint8_t floor[kMaxNesting];  // generation published before each began
    uint8_t generation[kMaxNesting];
    uint8_t returned[kMaxNesting];  // of calls of the outer operator: the inner's version known by a return...
    uint8_t met[kMaxNesting];       // ...and by a call that met it, before each began
  };
  Context context[kMaxPrograms];
  uint8_t memory[kMaxLocations];
  Buffer buffer[kMaxThreads];
  uint8_t locked, retired;                // 1 + the owning thread, or 0; the packed list it protects (interned)
  uint8_t barrier_running, barrier_left;  // a mask of threads
  uint8_t slot_generation[kNumSlots];     // 0: free
  uint8_t slot_content[kNumSlots];        // packed
  uint8_t last_generation, published_generation[kNumOwners];
  uint8_t returned_version,
      met_version;  // the inner operator's newest that a registration's return, or a call, made known
};
static_assert(std::has_unique_object_representations_v<SystemState>);

enum ContextStatus : uint8_t { kIdle, kRunning, kEnded };
enum class StepKind : uint8_t { kOp, kHoldStore, kReleaseHeld, kFlush, kFence, kSignal };
struct Step {
  StepKind kind;
  uint8_t who;  // program, or thread for kFlush and kFence
  Op op;        // for the trace
};
struct Violation {
  std::string text;
};
struct Restart {};
inline constexpr uint8_t kReserved = 255;  // generation of a state that is not live yet

inline bool isRelease(std::memory_order o) { return o != std::memory_order_relaxed; }

// Whether a store in program order before `next` may be done after it.
inline bool mayPass(uint8_t location, const Op& next) {
  if (next.fenced || next.location == location) return false;
  return next.kind == OpKind::kLoad || (next.kind == OpKind::kStore && !isRelease(next.order));
}

class Machine {
 public:
  using State = SystemState;
  using Steps = std::vector<Step>;

  std::vector<Program> programs;
  int operators = 1;
  std::vector<Automaton> automata;
  // Per location: which threads accessed it, and whether a store skipped the buffer because no other does.
  std::array<uint8_t, kMaxLocations> accessors{}, relied{};

  uint8_t bit(int thread) const { return static_cast<uint8_t>(1u << thread); }
  const Automaton::Node& nodeOf(const State& s, int c) const { return automata[c].node(s.context[c].node); }
  [[noreturn]] void fail(const std::string& why) const { throw Violation{why}; }

  // ---- memory ----
  void touch(uint8_t location, int thread) {
    if (location >= kMaxLocations) throw std::length_error("too many locations for the model");
    accessors[location] |= bit(thread);
    if (relied[location] && !std::has_single_bit(accessors[location])) throw Restart{};
  }
  bool ownLocation(uint8_t location, int thread) {
    if (accessors[location] & ~bit(thread)) return false;
    relied[location] = 1;
    return true;
  }
  Value read(const State& s, uint8_t location, int thread) {
    touch(location, thread);
    const auto& b = s.buffer[thread];
    for (int i = b.size - 1; i >= 0; --i)
      if (b.location[i] == location) return b.value[i];
    return s.memory[location];
  }
  void write(State& s, uint8_t location, Value value, int thread) {
    touch(location, thread);
    if (ownLocation(location, thread)) {
      s.memory[location] = value;
      return;
    }
    push(s, location, value, thread);
  }
  static void push(State& s, uint8_t location, Value value, int thread) {
    auto& b = s.buffer[thread];
    if (b.size == kMaxBuffered) throw std::length_error("a store buffer of the model is full");
    b.location[b.size] = location;
    b.value[b.size++] = value;
  }
  static void flush(State& s, int thread) {
    auto& b = s.buffer[thread];
    if (b.location[0] == kLockLocation)
      s.locked = 0;
    else
      s.memory[b.location[0]] = b.value[0];
    --b.size;
    std::memmove(b.location, b.location + 1, b.size);
    std::memmove(b.value, b.value + 1, b.size);
    b.location[b.size] = b.value[b.size] = 0;
  }

  // ---- the oracle ----
  void tell(State& s, int c, const Mark& m) const {
    auto& ctx = s.context[c];
    const auto generation = s.slot_generation[m.slot];
    const auto content = Content::of(s.slot_content[m.slot]);
    switch (m.kind) {
      case MarkKind::kBegin:
        ctx.floor[ctx.calls] = s.published_generation[m.content.owner];
        if (m.content.owner == Content::kOuter) {
          ctx.returned[ctx.calls] = s.returned_version;
          ctx.met[ctx.calls] = s.met_version;
        }
        ++ctx.calls;
        break;
      case MarkKind::kEntered:
        if (generation == 0 || generation == kReserved) fail("a call got a freed state");
        if (generation < ctx.floor[ctx.calls - 1]) fail("a call got a state replaced before the call began");
        ctx.generation[ctx.calls - 1] = generation;
        if (m.content.version != 0) s.met_version = std::max(s.met_version, content.version);
        break;
      case MarkKind::kFolded:
        checkVersion(m.content.version, ctx.returned[ctx.calls - 1], ctx.met[ctx.calls - 1]);
        break;
      case MarkKind::kInlined:
        checkVersion(m.content.version, s.returned_version, s.met_version);
        break;
      case MarkKind::kUse:
        if (generation != ctx.generation[ctx.calls - 1]) fail("a call uses a freed state");
        break;
      case MarkKind::kEnded:
        --ctx.calls;
        ctx.floor[ctx.calls] = ctx.generation[ctx.calls] = ctx.returned[ctx.calls] = ctx.met[ctx.calls] = 0;
        break;
      case MarkKind::kLive:
        s.slot_generation[m.slot] = ++s.last_generation;
        break;
      case MarkKind::kPublished:
        s.published_generation[content.owner] = generation;
        if (content.owner == Content::kInner) s.returned_version = content.version;
        break;
      case MarkKind::kFree:
        if (generation == 0) fail("a state was freed twice");
        s.slot_generation[m.slot] = s.slot_content[m.slot] = 0;
        break;
      case MarkKind::kAllDone: {
        int live = 0;
        for (auto g : s.slot_generation) live += g != 0;
        if (live != operators) fail("a retired state was never freed");
        break;
      }
      case MarkKind::kFail:
        fail(m.text);
    }
  }

  void checkVersion(uint8_t relied, uint8_t returned, uint8_t met) const {
    if (relied < returned) fail("a stale thunk ran after the registering call had returned");
    if (relied < met) fail("a stale thunk ran after a call had met the new entry");
  }

  // ---- what can happen ----
  int activeOn(const State& s, int thread) const {
    int active = -1;
    for (size_t c = 0; c < programs.size(); ++c)
      if (programs[c].thread == thread && s.context[c].status == kRunning && (active < 0 || programs[c].handler))
        active = static_cast<int>(c);
    return active;
  }
  bool signalPending(const State& s, int thread) const {
    for (size_t c = 0; c < programs.size(); ++c)
      if (programs[c].handler && programs[c].thread == thread && s.context[c].status == kIdle) return true;
    return false;
  }
  bool othersEnded(const State& s, int c) const {
    for (size_t i = 0; i < programs.size(); ++i)
      if (static_cast<int>(i) != c && s.context[i].status == kRunning) return false;
    return true;
  }
  bool buffersEmpty(const State& s, int except) const {
    for (int t = 0; t < kMaxThreads; ++t)
      if (t != except && s.buffer[t].size != 0) return false;
    return true;
  }
  bool enabled(const State& s, int c) const {
    const auto& ctx = s.context[c];
    const Op& op = nodeOf(s, c).op;
    if (ctx.held && !mayPass(ctx.held - 1, op)) return false;
    const bool drained = s.buffer[programs[c].thread].size == 0;
    switch (op.kind) {
      case OpKind::kExchange:
        return drained;
      case OpKind::kLock:
        return drained && s.locked == 0;
      case OpKind::kBarrier:
        return !s.barrier_running || s.barrier_left == 0;
      case OpKind::kJoin:
        return othersEnded(s, c) && buffersEmpty(s, programs[c].thread);
      default:
        return true;
    }
  }
  void threadSteps(const State& s, int t, int active, Steps& out) {
    if (s.buffer[t].size != 0) out.push_back({StepKind::kFlush, static_cast<uint8_t>(t), {}});
    if (active < 0) return;
    const auto c = static_cast<uint8_t>(active);
    const Op op = nodeOf(s, c).op;  // following an edge moves the nodes
    if (op.kind == OpKind::kBarrier && s.barrier_running)
      for (int u = 0; u < kMaxThreads; ++u)
        if (s.barrier_left & bit(u)) out.push_back({StepKind::kFence, static_cast<uint8_t>(u), {}});
    if (s.context[c].held) out.push_back({StepKind::kReleaseHeld, c, {}});
    if (enabled(s, c)) {
      out.push_back({StepKind::kOp, c, op});
      if (op.kind == OpKind::kStore && !s.context[c].held) {
        const auto next = automata[c].follow(s.context[c].node, 0).to;
        if (mayPass(op.location, automata[c].node(next).op)) out.push_back({StepKind::kHoldStore, c, op});
      }
    }
    if (programs[c].handler) return;
    for (size_t h = 0; h < programs.size(); ++h)
      if (programs[h].handler && programs[h].thread == t && s.context[h].status == kIdle)
        out.push_back({StepKind::kSignal, static_cast<uint8_t>(h), {}});
  }

  // ---- doing it ----
  void advance(State& s, int c, Value result) {
    const auto& edge = automata[c].follow(s.context[c].node, result);
    s.context[c].node = edge.to;
    for (const Mark& m : edge.after) tell(s, c, m);
    endIfDone(s, c);
  }
  void endIfDone(State& s, int c) const {
    if (nodeOf(s, c).op.kind == OpKind::kDone && !s.context[c].held) s.context[c].status = kEnded;
  }
  Value allocateSlot(State& s, Value content) const {
    for (uint8_t i = 1; i < kNumSlots; ++i)
      if (s.slot_generation[i] == 0) {
        s.slot_generation[i] = kReserved;
        s.slot_content[i] = static_cast<uint8_t>(Names::current().raw(content));
        return Names::current().intern(i);
      }
    throw std::length_error("too many states for the model");
  }

  Value contentOf(const State& s, const Op& op) const {
    const auto slot = Names::current().raw(op.value);
    if (slot == 0) return 0;
    if (s.slot_generation[slot] == 0 || s.slot_generation[slot] == kReserved) fail("a freed state is read");
    return Names::current().intern(s.slot_content[slot]);
  }

  Value result(State& s, int c, const Op& op) {
    const int thread = programs[c].thread;
    switch (op.kind) {
      case OpKind::kLoad:
        return read(s, op.location, thread);
      case OpKind::kStore:
        write(s, op.location, op.value, thread);
        return 0;
      case OpKind::kExchange: {
        const Value old = read(s, op.location, thread);
        s.memory[op.location] = op.value;
        return old;
      }
      case OpKind::kLock:
        s.locked = static_cast<uint8_t>(1 + thread);
        return s.retired;
      case OpKind::kUnlock:
        s.retired = op.value;
        push(s, kLockLocation, 0, thread);
        return 0;
      case OpKind::kBarrier:
        s.barrier_running = 0;
        return Names::current().intern(1);
      case OpKind::kAllocate:
        return allocateSlot(s, op.value);
      case OpKind::kInspect:
        return contentOf(s, op);
      case OpKind::kJoin:
        return 0;
      case OpKind::kDone:
        break;
    }
    throw std::logic_error("an ended program runs");
  }

  void startBarrier(State& s, int c) const {
    s.barrier_running = 1;
    for (const Program& p : programs) s.barrier_left |= bit(p.thread);
    s.barrier_left &= static_cast<uint8_t>(~bit(programs[c].thread));
    while (s.buffer[programs[c].thread].size != 0) flush(s, programs[c].thread);
  }

  void doOp(State& s, int c, bool hold) {
    const auto& node = nodeOf(s, c);
    const Op op = node.op;
    for (const Mark& m : node.before) tell(s, c, m);
    if (op.kind == OpKind::kBarrier && !s.barrier_running) return startBarrier(s, c);
    if (!hold) return advance(s, c, result(s, c, op));
    auto& ctx = s.context[c];
    ctx.held = static_cast<uint8_t>(op.location + 1);
    ctx.held_value = op.value;
    advance(s, c, 0);
  }

  void apply(State& s, const Step& step) {
    switch (step.kind) {
      case StepKind::kOp:
        return doOp(s, step.who, false);
      case StepKind::kHoldStore:
        return doOp(s, step.who, true);
      case StepKind::kReleaseHeld: {
        auto& ctx = s.context[step.who];
        write(s, static_cast<uint8_t>(ctx.held - 1), ctx.held_value, programs[step.who].thread);
        ctx.held = ctx.held_value = 0;
        return endIfDone(s, step.who);
      }
      case StepKind::kFlush:
        return flush(s, step.who);
      case StepKind::kFence:
        while (s.buffer[step.who].size != 0) flush(s, step.who);
        s.barrier_left &= static_cast<uint8_t>(~bit(step.who));
        return;
      case StepKind::kSignal:
        s.context[step.who].status = kRunning;
        return;
    }
  }
};

}  // namespace shunt::world::model
