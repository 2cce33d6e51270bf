// The table of what programs are made of, compiled once for each library: the text is the code. Included by
// interpret.h, inside a namespace in which both libraries' names mean their library's.
//
// ROW(...) makes a tensor of a and b (tensors), i and v (numbers); ACT(...) changes something.

// A function whose backward is not its derivative, so that one can see that it ran.
struct Scaled : Function<Scaled> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double k) {
    ctx->saved_data["k"] = k;
    return x * 2;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    return {g[0] * ctx->saved_data["k"].toDouble(), Tensor()};
  }
};
struct SavesOutput : Function<SavesOutput> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    const Tensor y = x.sigmoid();
    ctx->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    const Tensor y = ctx->get_saved_variables()[0];
    return {g[0] * y * (1 - y)};
  }
};
struct ReturnsInput : Function<ReturnsInput> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 3}; }
};
struct ReturnsView : Function<ReturnsView> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x.view(-1); }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0].sum() * 5}; }
};
struct Doubles : Function<Doubles> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 2}; }
};
struct TwoOutputs : Function<TwoOutputs> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    const Tensor sign = x.gt(0).to(x.scalar_type()), twice = x * 2;
    ctx->mark_non_differentiable({sign});
    return {sign, twice};
  }
  static variable_list backward(AutogradContext*, variable_list g) {
    return {g[1] * 2 + (g[0].defined() ? g[0] : ones_like(g[1]))};
  }
};

inline Tensor gradOf(const Tensor& y, const Tensor& x, bool create) {
  return autograd::grad({y.sum()}, {x}, {}, true, create, true)[0];
}

inline const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      // The C++ operators, numbers of every kind on both sides.
      ROW(a + b),
      ROW(a - b),
      ROW(a * b),
      ROW(a / b),
      ROW(-a),
      ROW(a + v),
      ROW(a - v),
      ROW(a * v),
      ROW(a / v),
      ROW(v + a),
      ROW(v - a),
      ROW(v * a),
      ROW(v / a),
      ROW(a + i),
      ROW(a - i),
      ROW(a * i),
      ROW(i + a),
      ROW(i - a),
      ROW(i * a),
      ROW(i / a),
      ROW(a + true),
      ROW(true + a),
      ROW(2.5f * a),
      ROW(a == b),
      ROW(a != v),
      ROW(a < b),
      ROW(a >= v),
      ROW(a > i),
      ROW(a <= b),
      ROW(a.add(v, 2)),
      ROW(a.sub(b, v)),
      ROW(rsub(a, v)),
      ROW(a.pow(2)),
      ROW(a.pow(b)),
      ROW(pow(v, a)),
      ROW(a.remainder(v)),
      ROW(a.fmod(b)),
      ACT(a += b),
      ACT(a -= v),
      ACT(a *= b),
      ACT(a /= v),
      ACT(a += i),
      // In place, also with itself and its views.
      ACT(a.add_(b)),
      ACT(a.mul_(a)),
      ACT(a.copy_(b)),
      ACT(a.zero_()),
      ACT(a.fill_(v)),
      ACT(a.relu_()),
      ACT(a.neg_()),
      ACT(a.mul_(v)),
      ACT(a.select(0, 0).mul_(b.select(0, 0))),
      ACT(a.view(-1).add_(v)),
      ACT(a.narrow(0, 0, 1).copy_(b.narrow(0, 0, 1))),
      ACT(a.clamp_(-1, 1)),
      ACT(a.transpose(0, -1).mul_(v)),
      ACT(a.detach().mul_(2)),
      ACT(a.squeeze_()),
      ACT(a.unsqueeze_(0)),
      ACT(a.detach_()),
      ACT(a.masked_fill_(b.gt(0), v)),
      ACT(a.addcmul_(b, b, v)),
      // Views and copies.
      ROW(a),
      ROW(a.view(-1)),
      ROW(a.transpose(0, -1)),
      ROW(a.select(0, 0)),
      ROW(a.narrow(-1, 0, 1)),
      ROW(a.unsqueeze(i)),
      ROW(a.squeeze()),
      ROW(a.expand_as(b)),
      ROW(a.split(1, i)[0]),
      ROW(a.unbind(0)[0]),
      ROW(a.chunk(2, i)[0]),
      ROW(a.reshape(-1)),
      ROW(a.clone()),
      ROW(a.contiguous()),
      ROW(a.detach()),
      ROW(a.view_as(b)),
      ROW(a.diagonal()),
      ROW(a.as_strided({2}, {1})),
      ROW(a.to(b.scalar_type())),
      ROW(a.to(kDouble)),
      ROW(a.to(kLong)),
      ROW(a.t()),
      ROW(a.flatten()),
      // Everything else.
      ROW(a.exp()),
      ROW(a.sigmoid()),
      ROW(a.tanh()),
      ROW(a.relu()),
      ROW(a.abs()),
      ROW(a.sqrt()),
      ROW(a.clamp(-1, v)),
      ROW(a.sum()),
      ROW(a.sum(i)),
      ROW(a.mean()),
      ROW(a.prod()),
      ROW(a.max()),
      ROW(a.amax(i)),
      ROW(a.argmax()),
      ROW(a.softmax(i)),
      ROW(a.log_softmax(-1)),
      ROW(a.matmul(b)),
      ROW(a.mm(b)),
      ROW(a.matmul(b.t())),
      ROW(addmm(a, b, b)),
      ROW(linear(a, b)),
      ROW(cat({a, b}, i)),
      ROW(stack({a, a}, 0)),
      ROW(where(a.gt(0), a, b)),
      ROW(maximum(a, b)),
      ROW(minimum(a, a)),
      ROW(addcdiv(a, b, b.abs() + 1)),
      ROW(a.gt(0).any()),
      ROW(mse_loss(a, b)),
      ROW(dropout(a, 0.0, true)),
      ROW(zeros_like(a)),
      ROW(a.new_full({2}, v)),
      ROW(arange(4)),
      ROW(full({2, 2}, v)),
      ROW(lerp(a, b, v)),
      ROW(a.masked_fill(b.gt(0), v)),
      // Autograd.
      ACT(a.sum().backward({}, true)),
      ACT(a.backward(b, true)),
      ACT(a.sum().backward({}, true, true)),
      ROW(gradOf(a, b, false)),
      ROW(gradOf(a, b, true)),
      ROW(gradOf(a * a, b, true)),
      ROW(gradOf(gradOf(a * a * a, b, true), b, true)),
      ACT(a.retain_grad()),
      ACT(a.requires_grad_()),
      ACT(a.requires_grad_(false)),
      ACT(a.set_requires_grad(true)),
      ROW(a.grad()),
      ROW(a.grad() + b),
      ACT(a.mutable_grad() = b.detach()),
      ACT(a.mutable_grad() = Tensor()),
      ACT(a.set_data(b)),
      ROW(a.tensor_data()),
      ACT(a.register_hook([](const Tensor& g) -> Tensor { return g * 2; })),
      ACT(a.register_hook([v](const Tensor& g) -> Tensor { return g + v; })),
      ACT(a.register_hook([](const Tensor&) -> Tensor { return Tensor(); })),
      // Custom functions.
      ROW(Scaled::apply(a, v)),
      ROW(SavesOutput::apply(a)),
      ROW(ReturnsInput::apply(a)),
      ROW(ReturnsView::apply(a)),
      ROW(Doubles::apply(a)),
      ROW(Doubles::apply(a.clone())),
      ROW(Doubles::apply(a.view(-1))),
      ROW(TwoOutputs::apply(a)[0]),
      ROW(TwoOutputs::apply(a)[1]),
      ACT(ReturnsInput::apply(a).mul_(2)),
      ACT(ReturnsView::apply(a).mul_(2)),
  };
  return all;
}
