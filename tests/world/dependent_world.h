// The programs of "one world per call" with two operators and a thunk: the outer operator's thunk relies on the inner
// operator's entry. Callers, a registrar that changes the inner operator, the compiler that makes the thunk, a
// reclaimer.
//
// Note [The model's thunk]
// There is at most one, the outer operator's; whether a state of that operator holds it, and which version of the inner
// entry it relied on, is the state's content. A call of the outer operator that finds it
//   - folds:  has relied on the inner entry since its own beginning, without asking;
//   - calls the inner operator through its table, as a kernel in the thunk does;
//   - inlines: asks for validity, then runs the inlined entry, or calls the operator.
// each if the shape says so; without a thunk the call is interpreted and calls the inner operator. The oracle knows the
// newest version of the inner entry that anyone could know of: by a registration's return, or by a call that got it.
// What begins then must not run an older one.
#pragma once

#include <shunt/core/world.h>

#include "src/dispatch/publication.h"
#include "tests/world/model_explorer.h"

namespace shunt::world {
namespace model {
struct ThunkPlatform : ModelPlatform {};
}  // namespace model
/// No call of these worlds is in a chained block; one_world.h has those.
template <>
inline constexpr int kFramesPerBlock<model::ThunkPlatform> = 2;
}  // namespace shunt::world

namespace shunt::world::model {

struct NoBugs : NoSeededBugs, NoPublicationBugs {};

struct DependentShape {
  const char* caller[2] = {
      "o", "i"};  // what each calls, one after another: the inner or the outer operator; "": no such caller
  bool folds = true, calls_inside = false, inlines = true;
  bool thunk_at_start = false;  // or
  int compiles = 1;             // the compiler makes it
  int registrations = 1;
  bool changes_both = false;  // a registration changes the outer operator too
  int reclaims = 1;           // before the last one, which runs when every program has ended
};

template <class Bugs = NoBugs>
class DependentWorld {
 public:
  using Frames = ThreadFrames<ThunkPlatform, Slot, Bugs>;
  using Reclaim = Reclaimer<ThunkPlatform, Slot, Bugs>;

  explicit DependentWorld(DependentShape shape) : shape_(shape) {
    if (shape.thunk_at_start + shape.compiles > 1)
      throw std::length_error("a second thunk would share the first one's validity");
  }

  Outcome explore(bool reduce = true) {
    const uint8_t relied = shape_.thunk_at_start ? 1 : 0;
    Explorer explorer(programs(), {{inner_.location(), inner(1)}, {outer_.location(), outer(relied)}});
    return explorer.explore(reduce);
  }

 private:
  struct Scope {
    explicit Scope(const char* name) { Names::current().scope = name; }
  };
  static Content inner(uint8_t version) { return {Content::kInner, version}; }
  static Content outer(uint8_t relied) { return {Content::kOuter, relied}; }

  std::vector<Program> programs() {
    std::vector<Program> all;
    for (int i = 0; i < 2; ++i)
      if (shape_.caller[i][0] != 0)
        all.push_back({"caller " + std::to_string(i + 1), i, false, [this, i] { caller(i); }});
    if (shape_.registrations != 0) all.push_back({"registrar", 2, false, [this] { registrar(); }});
    if (shape_.compiles != 0) all.push_back({"compiler", 4, false, [this] { compiler(); }});
    all.push_back({"reclaimer", 3, false, [this] { reclaimer(); }});
    return all;
  }

  // ---- calls ----
  template <class Inside>
  void call(Frames& frames, const ThunkPlatform::Atomic<const Slot*>& published, Content::Owner owner,
            Inside&& inside) {
    mark(MarkKind::kBegin, nullptr, Content{owner});
    int depth = 0;
    const Slot* s = frames.enter(published, depth);
    mark(MarkKind::kEntered, s, Content{owner, owner == Content::kInner});
    inside(s);
    mark(MarkKind::kUse, s);
    frames.leave(depth);
    mark(MarkKind::kEnded);
  }
  void callInner(Frames& frames) {
    call(frames, inner_, Content::kInner, [](const Slot*) {});
  }
  void callOuter(Frames& frames) {
    call(frames, outer_, Content::kOuter, [&](const Slot* s) {
      const Content content = inspect(s);
      if (content.version == 0) return callInner(frames);
      if (shape_.folds) mark(MarkKind::kFolded, nullptr, content);
      if (shape_.calls_inside) callInner(frames);
      if (!shape_.inlines) return;
      if (!validity_.holds()) return callInner(frames);
      mark(MarkKind::kInlined, nullptr, content);
    });
  }
  void caller(int i) {
    Frames& frames = i == 0 ? frames1_ : frames2_;
    int n = 0;
    for (const char* c = shape_.caller[i]; *c != 0; ++c, ++n) {
      if (n != 0) checkpoint(n);
      if (*c == 'i')
        callInner(frames);
      else
        callOuter(frames);
    }
  }

  // ---- changes ----
  // What world::publishChange works on here; see Publication in src/dispatch/publication.cpp.
  struct Change {
    Reclaim& reclaim;
    DependentWorld& world;
    bool stale;             // the thunk in force relies on what changes
    const Slot* dependant;  // the outer operator's state without it; null: there is none
    const Slot* inner;      // what changes; null: does not
    const Slot* outer;

    template <class F>
    void forEachStale(F&& f) {
      if (stale) f(world.validity_);
    }
    void replaceDependants() {
      if (dependant != nullptr) reclaim.publish(world.outer_, dependant);
    }
    void replaceChanged() {
      if (inner != nullptr) reclaim.publish(world.inner_, inner);
      if (outer != nullptr) reclaim.publish(world.outer_, outer);
    }
  };

  // The protected list travels through `lock` and `unlock`; the headers' classes do the work in between.
  static void lockInto(Reclaim& r) {
    for (const Slot* s : lock()) r.retire(s);
  }
  void registrar() {
    for (int n = 0; n < shape_.registrations; ++n) {
      if (n != 0) checkpoint(n);
      const auto version = static_cast<uint8_t>(2 + n);
      Reclaim r;
      lockInto(r);
      const bool stale = inspect(outer_.load(std::memory_order_acquire)).version != 0;
      const Slot* dependant = stale && !Bugs::kKeepDependants ? allocate(outer(0)) : nullptr;
      const Slot* new_inner = allocate(inner(version));
      const Slot* new_outer = shape_.changes_both ? allocate(outer(0)) : nullptr;
      for (const Slot* s : {dependant, new_inner, new_outer})
        if (s != nullptr) mark(MarkKind::kLive, s);
      publishChange<Bugs>(Change{r, *this, stale, dependant, new_inner, new_outer});
      unlock(r.retired());
      for (const Slot* s : {dependant, new_inner, new_outer})
        if (s != nullptr) mark(MarkKind::kPublished, s);
    }
  }

  struct Edge {
    uint8_t version;
  };
  uint8_t versionInForce() { return inspect(inner_.load(std::memory_order_acquire)).version; }
  void compiler() {
    for (int n = 0; n < shape_.compiles; ++n) {
      if (n != 0) checkpoint(n);
      Reclaim r;
      lockInto(r);
      const Edge edges[] = {{versionInForce()}};
      unlock(r.retired());

      Reclaim r2;
      lockInto(r2);
      const auto current = [&](const Edge&) { return versionInForce(); };
      const Slot* next = nullptr;
      if (edgesUnchanged<Bugs>(edges, current)) {
        next = allocate(outer(edges[0].version));
        mark(MarkKind::kLive, next);
        publishChange<Bugs>(Change{r2, *this, false, nullptr, nullptr, next});
      }
      unlock(r2.retired());
      if (next != nullptr) mark(MarkKind::kPublished, next);
    }
  }

  void reclaimer() {
    for (int n = 0; n <= shape_.reclaims; ++n) {
      if (n != 0) checkpoint(n);
      if (n == shape_.reclaims) joinAll();
      Reclaim r;
      lockInto(r);
      r.reclaim(
          [&](auto&& visit) {
            visit(frames1_);
            visit(frames2_);
          },
          [](const Slot* s) { mark(MarkKind::kFree, s); });
      unlock(r.retired());
    }
    mark(MarkKind::kAllDone);
  }

  DependentShape shape_;
  Names names_;
  Scope scope0_{"inner"};
  ThunkPlatform::Atomic<const Slot*> inner_;
  Scope scope1_{"outer"};
  ThunkPlatform::Atomic<const Slot*> outer_;
  Scope scope2_{"thunk"};
  Validity<ThunkPlatform, Bugs> validity_;
  Scope scope3_{"frames 1"};
  Frames frames1_;
  Scope scope4_{"frames 2"};
  Frames frames2_;
};

}  // namespace shunt::world::model
