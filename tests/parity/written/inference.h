// Programs about views whose base changes later: made in inference mode, in no_grad, by operators that return several
// views; and about set_data and detach_ in those modes.
#pragma once

#include "tests/parity/written/program.h"

#include <optional>

namespace parity::programs {

template <class Api>
struct InferencePrograms {
  using Tensor = typename Api::Tensor;

  /// Grad mode, no_grad or inference mode, for a scope.
  struct Mode {
    explicit Mode(const std::string& name) {
      if (name == "no_grad") grad.emplace(false);
      if (name == "inference") inference.emplace(true);
    }
    std::optional<typename Api::GradMode> grad;
    std::optional<typename Api::InferenceMode> inference;
  };

  static Tensor input(const std::string& kind, const Tensor& leaf) {
    return kind == "leaf" ? leaf : kind == "inner" ? leaf.mul(10) : Api::of({1, 2});
  }

  static void viewLater(Log& log, const std::string& kind, const std::string& made, const std::string& how,
                        const std::string& changed, const std::string& action) {
    const Tensor leaf = Api::leaf({1, 2}), w = Api::leaf({7, 7});
    Tensor base = input(kind, leaf), v;
    {
      Mode mode(made);
      if (how == "view")
        v = base.view({1, 2});
      else if (how == "view of a view")
        v = base.view({1, 2}).view({2});
      else if (how == "detach")
        v = base.detach();
      else if (how == "split")
        v = base.split(1)[1];
      else if (how == "unbind")
        v = base.unbind()[1];
      else
        v = base.unbind()[1].view({1});
    }
    look<Api>(log, "before", v);
    log.attempt("change", [&] {
      Mode mode(changed);
      Tensor target = action.starts_with("base") ? base : v;
      if (action.ends_with("by w"))
        target.mul_(w.slice(0, 0, target.numel()).view(target.sizes()));
      else
        target.mul_(4);
      return "done";
    });
    look<Api>(log, "after", v);
    look<Api>(log, "base", base);
    backward<Api>(log, "view", v);
    log.attempt("used", [&] { return Api::show(v.mul(w.slice(0, 0, v.numel()).view(v.sizes()))); });
    log.attempt("view of it", [&] { return v.view({-1}).requires_grad(); });
    backward<Api>(log, "base", base);
    log.attempt("gradient", [&] { return leaf.grad().defined() ? Api::show(leaf.grad()) : "none"; });
    log.attempt("gradient of w", [&] { return w.grad().defined() ? Api::show(w.grad()) : "none"; });
  }

  static void setData(Log& log, const std::string& kind, const std::string& from, const std::string& mode_name) {
    const Tensor leaf = Api::leaf({1, 2});
    Tensor inference, other;
    {
      typename Api::InferenceMode on(true);
      inference = Api::of({5, 6});
      other = Api::of({3, 4, 5});
    }
    const Tensor target = kind == "inference" ? inference
                          : kind == "view"    ? Api::of({1, 2}).view({2})
                                              : input(kind, leaf);
    const Tensor source = from == "inference" ? other : from == "leaf" ? Api::leaf({7, 8, 9}) : Api::of({7, 8, 9});
    log.attempt("set_data", [&] {
      Mode mode(mode_name);
      target.set_data(source);
      return "done";
    });
    look<Api>(log, "target", target);
    look<Api>(log, "source", source);
    if (kind == "inference" || from == "inference") return;  // what follows is libtorch's mixture of both kinds
    log.attempt("in place", [&] {
      typename Api::GradMode off(false);
      Tensor t = target;
      t.mul_(2);
      return "done";
    });
    look<Api>(log, "target", target);
    look<Api>(log, "source", source);
    log.attempt("in place in inference mode", [&] {
      Mode mode("inference");
      Tensor t = target;
      t.mul_(2);
      return "done";
    });
    look<Api>(log, "target", target);
    backward<Api>(log, "target", target);
    log.attempt("gradient", [&] { return leaf.grad().defined() ? Api::show(leaf.grad()) : "none"; });
  }

  static void detachInPlace(Log& log, const std::string& kind, const std::string& mode_name) {
    const Tensor leaf = Api::leaf({1, 2});
    Tensor target;
    {
      Mode made(kind == "view in inference" || kind == "inference" ? "inference" : "");
      target = kind == "view"                ? leaf.mul(10).view({1, 2})
               : kind == "view in inference" ? leaf.view({1, 2})
               : kind == "inference"         ? Api::of({1, 2})
               : kind == "view of inference" ? Api::of({1, 2})
                                             : input(kind, leaf);
    }
    log.attempt("detach_", [&] {
      Mode mode(mode_name);
      Tensor t = target;
      t.detach_();
      return "done";
    });
    look<Api>(log, "target", target);
    backward<Api>(log, "target", target);
    log.attempt("gradient", [&] { return leaf.grad().defined() ? Api::show(leaf.grad()) : "none"; });
  }

  static void addAll(std::vector<Program>& all) {
    const std::vector<std::string> modes{"grad", "no_grad", "inference"};
    for (const std::string kind : {"leaf", "inner", "plain"})
      for (const std::string& made : modes)
        for (const std::string how : {"view", "view of a view", "detach", "split", "unbind", "view of unbind"})
          for (const std::string& changed : modes)
            for (const std::string action : {"base", "base by w", "view", "view by w"})
              all.push_back(
                  {"view made in " + made + " by " + how + " of " + kind + ", in " + changed + " in place on " + action,
                   [=](Log& log) { viewLater(log, kind, made, how, changed, action); }});
    for (const std::string kind : {"leaf", "inner", "plain", "view", "inference"})
      for (const std::string from : {"plain", "leaf", "inference"})
        for (const std::string& mode : modes)
          all.push_back({"set_data of " + kind + " to " + from + " in " + mode,
                         [=](Log& log) { setData(log, kind, from, mode); }});
    for (const std::string kind : {"leaf", "inner", "plain", "view", "view in inference", "inference"})
      for (const std::string& mode : modes)
        all.push_back({"detach_ of " + kind + " in " + mode, [=](Log& log) { detachInPlace(log, kind, mode); }});
  }
};

}  // namespace parity::programs
