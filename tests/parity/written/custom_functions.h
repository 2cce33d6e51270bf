// Programs about custom functions: outputs that are inputs or views of inputs and in-place operators on either,
// mark_dirty, mark_non_differentiable, saved tensors.
#pragma once

#include "tests/parity/written/program.h"

namespace parity::programs {

template <class Api>
struct CustomFunctions {
  using Tensor = typename Api::Tensor;
  using Context = typename Api::Context;
  using List = std::vector<Tensor>;

  static inline Log* seen = nullptr;  // where a function's backward writes

  struct Same : Api::template Function<Same> {
    static List forward(Context*, const Tensor& x) { return {x}; }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };
  struct View : Api::template Function<View> {
    static List forward(Context*, const Tensor& x) { return {x.view({1, 2})}; }
    static List backward(Context*, List g) { return {g[0].view({2}).mul(3)}; }
  };
  struct ViewOfView : Api::template Function<ViewOfView> {
    static List forward(Context*, const Tensor& x) { return {x.view({1, 2}).select(0, 0)}; }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };
  struct Detached : Api::template Function<Detached> {
    static List forward(Context*, const Tensor& x) { return {x.detach()}; }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };
  struct SameAndFresh : Api::template Function<SameAndFresh> {
    static List forward(Context*, const Tensor& x) { return {x, x.mul(2)}; }
    static List backward(Context*, List g) { return {g[0].mul(3).add(g[1].mul(5))}; }
  };
  struct ViewAndFresh : Api::template Function<ViewAndFresh> {
    static List forward(Context*, const Tensor& x) { return {x.view({1, 2}), x.mul(2)}; }
    static List backward(Context*, List g) { return {g[0].view({2}).mul(3).add(g[1].mul(5))}; }
  };
  struct Recorded : Api::template Function<Recorded> {  // forward records, which backward replaces
    static List forward(Context*, const Tensor& x) {
      typename Api::GradMode on(true);
      return {x.mul(2)};
    }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };

  // ---- in place
  struct Dirty : Api::template Function<Dirty> {
    static List forward(Context* ctx, Tensor x) {
      x.mul_(2);
      ctx->mark_dirty({x});
      return {x};
    }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };
  struct DirtyUnchanged : Api::template Function<DirtyUnchanged> {
    static List forward(Context* ctx, const Tensor& x) {
      ctx->mark_dirty({x});
      return {x};
    }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };
  struct DirtyAndFresh : Api::template Function<DirtyAndFresh> {
    static List forward(Context* ctx, Tensor x) {
      x.mul_(2);
      ctx->mark_dirty({x});
      return {x, x.mul(2)};
    }
    static List backward(Context*, List g) { return {g[0].mul(3).add(g[1].mul(5))}; }
  };
  struct DirtySaved : Api::template Function<DirtySaved> {
    static List forward(Context* ctx, Tensor x) {
      x.mul_(2);
      ctx->mark_dirty({x});
      ctx->save_for_backward({x});
      return {x};
    }
    static List backward(Context* ctx, List g) { return {g[0].mul(ctx->get_saved_variables()[0])}; }
  };
  struct DirtyKept : Api::template Function<DirtyKept> {
    static List forward(Context* ctx, Tensor x) {
      x.mul_(2);
      ctx->mark_dirty({x});
      return {x.mul(1)};
    }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };
  struct DirtyUnmarked : Api::template Function<DirtyUnmarked> {
    static List forward(Context*, Tensor x) { return {x.mul_(2)}; }
    static List backward(Context*, List g) { return {g[0].mul(3)}; }
  };

  // ---- saved
  struct SavesInput : Api::template Function<SavesInput> {
    static List forward(Context* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return {x};
    }
    static List backward(Context* ctx, List g) { return {g[0].mul(ctx->get_saved_variables()[0])}; }
  };
  struct SavesView : Api::template Function<SavesView> {
    static List forward(Context* ctx, const Tensor& x) {
      const Tensor y = x.view({1, 2});
      ctx->save_for_backward({y});
      return {y};
    }
    static List backward(Context* ctx, List g) { return {g[0].mul(ctx->get_saved_variables()[0]).view({2})}; }
  };

  // ---- not differentiable
  static void writeGrads(const List& grads) {
    for (const Tensor& g : grads) seen->line("  backward got ", g.defined() ? Api::show(g) : "nothing");
  }
  template <bool materialize>
  struct Marked : Api::template Function<Marked<materialize>> {
    static List forward(Context* ctx, const Tensor& x) {
      ctx->set_materialize_grads(materialize);
      const Tensor index = x.gt(0), second = x.mul(5);
      ctx->mark_non_differentiable({index, second});
      return {x.mul(2), index, second, x.mul(3)};
    }
    static List backward(Context*, List g) {
      writeGrads(g);
      return {g[0].defined() ? g[0].mul(2) : g[3].mul(7)};
    }
  };
  struct MarkedInput : Api::template Function<MarkedInput> {
    static List forward(Context* ctx, const Tensor& x) {
      ctx->mark_non_differentiable({x});
      return {x, x.mul(2)};
    }
    static List backward(Context*, List g) {
      writeGrads(g);
      return {g[1].mul(2)};
    }
  };
  struct MarkedView : Api::template Function<MarkedView> {
    static List forward(Context* ctx, const Tensor& x) {
      const Tensor y = x.view({1, 2});
      ctx->mark_non_differentiable({y});
      return {y, x.mul(2)};
    }
    static List backward(Context*, List g) {
      writeGrads(g);
      return {g[1].mul(2)};
    }
  };

  // ---- the programs
  struct Input {
    Tensor leaf, base, x;
  };
  static Input input(const std::string& kind) {
    const Tensor leaf = Api::leaf({1, 2});
    if (kind == "leaf") return {leaf, leaf, leaf};
    if (kind == "inner") {
      const Tensor h = leaf.mul(10);
      return {leaf, h, h};
    }
    if (kind == "view") {
      const Tensor h = leaf.mul(10);
      return {leaf, h, h.view({1, 2}).view({2})};
    }
    if (kind == "view of leaf") return {leaf, leaf, leaf.view({2})};
    const Tensor plain = Api::of({1, 2});
    if (kind == "plain view") return {leaf, plain, plain.view({2})};
    return {leaf, plain, plain};
  }

  static void act(Log& log, const std::string& action, const Input& in, const Tensor& y) {
    const Tensor w = Api::leaf({7, 7});
    const auto on = [&](Tensor t, bool recorded) {
      // Refused; on a copy, as libtorch changes it before.
      if (t.is_inference()) t = Api::inferenceCopy(t);
      log.attempt(action, [&] {
        typename Api::GradMode mode(recorded);
        if (action.ends_with("by w"))
          t.mul_(w.view(t.sizes()));
        else
          t.mul_(4);
        return "done";
      });
    };
    if (action == "nothing") return;
    if (action.starts_with("output")) return on(y, action.find("no_grad") == std::string::npos);
    if (action.starts_with("base")) return on(in.base, action.find("no_grad") == std::string::npos);
    on(in.x, action.find("no_grad") == std::string::npos);
  }

  template <class F>
  static void program(Log& log, const std::string& kind, const std::string& mode, const std::string& action) {
    const Input in = input(kind);
    List y;
    log.attempt("apply", [&] {
      if (mode == "no_grad") {
        typename Api::GradMode off(false);
        y = F::apply(in.x);
      } else if (mode == "inference") {
        typename Api::InferenceMode on(true);
        y = F::apply(in.x);
      } else {
        y = F::apply(in.x);
      }
      return "done";
    });
    if (y.empty()) return;
    seen = &log;
    log.line("output is the input: ", y[0].is_same(in.x));
    for (const Tensor& t : y) look<Api>(log, "output", t);
    act(log, action, in, y[0]);
    for (const Tensor& t : y) look<Api>(log, "output", t);
    look<Api>(log, "input", in.x);
    look<Api>(log, "base", in.base);
    // A graph's saved tensors keep their versions whatever is asked first.
    for (const Tensor& t : y) backward<Api>(log, "output", t);
    log.attempt("gradient", [&] { return in.leaf.grad().defined() ? Api::show(in.leaf.grad()) : "none"; });
    backward<Api>(log, "input", in.x);
    backward<Api>(log, "base", in.base);
    log.attempt("gradient", [&] { return in.leaf.grad().defined() ? Api::show(in.leaf.grad()) : "none"; });
  }

  template <class F>
  static void add(std::vector<Program>& all, const std::string& name) {
    for (const std::string kind : {"leaf", "inner", "view", "view of leaf", "plain", "plain view"})
      for (const std::string mode : {"grad", "no_grad", "inference"})
        for (const std::string action : {"nothing", "output", "output by w", "output in no_grad", "input", "input by w",
                                         "input in no_grad", "base"})
          all.push_back({"custom function " + name + ", " + kind + ", " + mode + ", in place on " + action,
                         [=](Log& log) { program<F>(log, kind, mode, action); }});
  }

  static void addAll(std::vector<Program>& all) {
    add<Same>(all, "Same");
    add<View>(all, "View");
    add<ViewOfView>(all, "ViewOfView");
    add<Detached>(all, "Detached");
    add<SameAndFresh>(all, "SameAndFresh");
    add<ViewAndFresh>(all, "ViewAndFresh");
    add<Recorded>(all, "Recorded");
    add<Dirty>(all, "Dirty");
    add<DirtyUnchanged>(all, "DirtyUnchanged");
    add<DirtyAndFresh>(all, "DirtyAndFresh");
    add<DirtySaved>(all, "DirtySaved");
    add<DirtyKept>(all, "DirtyKept");
    add<DirtyUnmarked>(all, "DirtyUnmarked");
    add<SavesInput>(all, "SavesInput");
    add<SavesView>(all, "SavesView");
    add<Marked<true>>(all, "Marked");
    add<Marked<false>>(all, "Marked without zeros");
    add<MarkedInput>(all, "MarkedInput");
    add<MarkedView>(all, "MarkedView");
  }
};

}  // namespace parity::programs
