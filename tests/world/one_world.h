// The programs of "one world per call" over the model's machine: callers, a signal handler, a registrar, a reclaimer.
// One operator; dependent_world.h has two, with thunks and the compiler.
#pragma once

#include <shunt/core/world.h>

#include "tests/world/model_explorer.h"

namespace shunt::world {
/// Every nested call of the model is in a chained block.
template <>
inline constexpr int kFramesPerBlock<model::ModelPlatform> = 1;
}  // namespace shunt::world

namespace shunt::world::model {

/// What takes part. The defaults are all of them.
struct Shape {
  int caller_calls[2] = {1, 1};  // calls one after another; 0: no such caller
  bool nested = true;            // the first caller's calls make a call inside
  bool signal = true;            // a handler that makes a call may interrupt the first caller
  int publications = 2;
  int reclaims = 1;  // before the last one, which runs when every program has ended
};

template <class Bugs = NoSeededBugs>
class World {
 public:
  using Frames = ThreadFrames<ModelPlatform, Slot, Bugs>;
  using Reclaim = Reclaimer<ModelPlatform, Slot, Bugs>;

  explicit World(Shape shape) : shape_(shape) {}

  Outcome explore(bool reduce = true) {
    Explorer explorer(programs(), {{published_.location(), {}}});
    return explorer.explore(reduce);
  }

 private:
  struct Scope {
    explicit Scope(const char* name) { Names::current().scope = name; }
  };

  std::vector<Program> programs() {
    std::vector<Program> all;
    for (int i = 0; i < 2; ++i)
      if (shape_.caller_calls[i] != 0)
        all.push_back({"caller " + std::to_string(i + 1), i, false, [this, i] { caller(i); }});
    if (shape_.signal) all.push_back({"handler", 0, true, [this] { call(frames1_, [] {}); }});
    all.push_back({"registrar", 2, false, [this] { registrar(); }});
    all.push_back({"reclaimer", 3, false, [this] { reclaimer(); }});
    return all;
  }

  template <class Inside>
  void call(Frames& frames, Inside&& inside) {
    mark(MarkKind::kBegin);
    int depth = 0;
    const Slot* s = frames.enter(published_, depth);
    mark(MarkKind::kEntered, s);
    inside();
    if (frames.innermost() != s) mark(MarkKind::kFail, nullptr, "a call's state changed during the call");
    mark(MarkKind::kUse, s);
    frames.leave(depth);
    mark(MarkKind::kEnded);
  }

  void caller(int i) {
    Frames& frames = i == 0 ? frames1_ : frames2_;
    for (int n = 0; n < shape_.caller_calls[i]; ++n) {
      if (n != 0) checkpoint(n);
      call(frames, [&] {
        if (i == 0 && shape_.nested) call(frames, [] {});
      });
    }
  }

  // The protected list travels through `lock` and `unlock`; the header's class does the work in between.
  void registrar() {
    for (int n = 0; n < shape_.publications; ++n) {
      if (n != 0) checkpoint(n);
      Reclaim r;
      for (const Slot* s : lock()) r.retire(s);
      const Slot* next = allocate();
      mark(MarkKind::kLive, next);
      r.publish(published_, next);
      unlock(r.retired());
      mark(MarkKind::kPublished, next);
    }
  }

  void reclaimer() {
    for (int n = 0; n <= shape_.reclaims; ++n) {
      if (n != 0) checkpoint(n);
      if (n == shape_.reclaims) joinAll();
      Reclaim r;
      for (const Slot* s : lock()) r.retire(s);
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

  Shape shape_;
  Names names_;
  Scope scope0_{"op"};
  ModelPlatform::Atomic<const Slot*> published_;
  Scope scope1_{"frames 1"};
  Frames frames1_;
  Scope scope2_{"frames 2"};
  Frames frames2_;
};

}  // namespace shunt::world::model
