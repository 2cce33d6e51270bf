// OperatorEntry: one operator's registrations and their published table.
//
// Owned by the dispatcher for the life of the process. Every method needs the dispatcher's lock, except `schema` and
// `withdrawn`: a definition is reached through an atomic pointer and kept until the dispatcher has freed everything
// that may use it.
#pragma once

#include "src/dispatch/compute_table.h"

#include <algorithm>
#include <atomic>

namespace shunt {

/// A signature that typed<>() handles were made with. All text: who asked may have been unloaded.
struct AskedSignature {
  std::string id, text, place;  // id: the name of its type_info
};

class OperatorEntry {
 public:
  explicit OperatorEntry(Operator* op) : op_(op) { op->entry_.store(this, std::memory_order_release); }

  Operator* op() const { return op_; }
  OperatorName name() const { return OperatorName(std::string(op_->name()), std::string(op_->overload())); }
  const SchemaRecord* schema() const { return schema_.load(std::memory_order_acquire); }
  const KernelMap& kernels() const { return kernels_; }
  /// The C++ signature that all unboxed kernels share, with the place that set it; null while there is none.
  const CppSignature* signature() const { return signature_; }
  const std::string& signature_place() const { return signature_place_; }
  bool exists() const { return schema() != nullptr || !kernels_.empty(); }
  const OpState* state() const { return op_->state_.load(std::memory_order_acquire); }

  /// Definitions are kept for good, since a call on another thread may be printing one; an equal one is used again.
  void setSchema(FunctionSchema schema, std::string place, uint64_t id) {
    schema_id_ = id;
    for (const auto& past : schemas_)
      if (past->schema == schema && past->place == place) return schema_.store(past.get(), std::memory_order_release);
    schemas_.push_back(std::make_unique<SchemaRecord>(std::move(schema), std::move(place)));
    schema_.store(schemas_.back().get(), std::memory_order_release);
  }
  void clearSchema() {
    withdrawn_.store(schema(), std::memory_order_release);
    schema_.store(nullptr, std::memory_order_release);
    asked_.clear();
  }
  /// The definition that was taken back last; null while there was none.
  const SchemaRecord* withdrawn() const { return withdrawn_.load(std::memory_order_acquire); }
  /// Of the definition in force.
  uint64_t schema_id() const { return schema_id_; }
  void setSignature(const CppSignature* signature, std::string place) {
    signature_ = signature;
    signature_place_ = std::move(place);
  }
  void addKernel(DispatchKey key, KernelRecord record) {
    follows_ |= record.stands_in.of != nullptr;
    kernels_.add(key, std::move(record));
  }
  std::optional<KernelRecord> removeKernel(DispatchKey key, uint64_t id) {
    auto out = kernels_.remove(key, id);
    if (out && isDangling()) left_dangling_ = detail::str(key, " at ", placeOf(out->where));
    // A signature is its kernel's library's, which may go; another kernel's is as good.
    if (out && out->kernel.signature == signature_ && !bound_signature_) {
      const KernelRecord* other = anyUnboxed();
      other != nullptr ? setSignature(other->kernel.signature, placeOf(other->where)) : setSignature(nullptr, "");
    }
    if (!exists()) asked_.clear();
    return out;
  }
  /// A typed handle calls whatever kernel is there with the signature that it was made with, so a kernel of another one
  /// must not come later. Forgotten with the definition: the next one may be of another operator.
  void rememberAsked(const CppSignature& signature, const std::source_location& where) {
    if (bound_signature_) return;  // nothing else can be asked or registered
    if (!exists()) return;         // of a handle that is left over
    const std::string_view id = signature.id->name();
    if (std::ranges::none_of(asked_, [&](const AskedSignature& a) { return a.id == id; }))
      asked_.push_back({std::string(id), signature.str(), placeOf(where)});
  }
  /// Lines that name all that were asked for; empty unless one of them is not `signature`.
  std::string askedOtherThan(const CppSignature& signature) const {
    const std::string_view id = signature.id->name();
    if (std::ranges::all_of(asked_, [&](const AskedSignature& a) { return a.id == id; })) return "";
    std::string lines =
        asked_.size() > 1 ? "; no signature serves all that were asked for, so only a boxed kernel does" : "";
    for (const AskedSignature& a : asked_) lines += "\n  asked: " + a.text + "\n         by typed<>() at " + a.place;
    return lines;
  }
  /// Whether nobody has ever defined it.
  bool isDangling() const { return schema() == nullptr && withdrawn() == nullptr; }
  /// "CPU at my_ops.cpp:12": the kernel that was taken back last while nobody had defined the operator.
  const std::string& left_dangling() const { return left_dangling_; }
  /// Whether it has stand-ins, so that its table depends on another operator's registrations; or had, which does no
  /// harm.
  bool follows() const { return follows_; }
  /// The operators that have stand-ins for this one.
  const std::vector<OperatorEntry*>& followers() const { return followers_; }
  void addFollower(OperatorEntry* follower) {
    for (OperatorEntry* f : followers_)
      if (f == follower) return;
    followers_.push_back(follower);
  }
  /// Generated code knows its operators' signatures; they stay when kernels go.
  void bindSignature(const CppSignature* signature) {
    bound_signature_ = true;
    setSignature(signature, "the operator dictionary");
  }

  /// The table that follows from the registrations, or null when it is the one in force.
  std::unique_ptr<OpState> recompute(const KernelMap& fallbacks, uint64_t& world) const {
    const OpState* before = state();
    auto next = TableComputer::compute(op_, kernels_, fallbacks, before, world);
    if (before != nullptr && TableComputer::equal(*before, *next)) return nullptr;
    return next;
  }
  /// For the reclaimer to publish in.
  std::atomic<const OpState*>& published() { return op_->state_; }

 private:
  const KernelRecord* anyUnboxed() const {
    for (const auto& slot : kernels_.slots())
      for (const KernelRecord& r : slot.records)
        if (r.kernel.signature != nullptr) return &r;
    return nullptr;
  }

  Operator* const op_;
  std::atomic<const SchemaRecord*> schema_{nullptr}, withdrawn_{nullptr};
  uint64_t schema_id_ = 0;
  std::vector<std::unique_ptr<const SchemaRecord>> schemas_;
  KernelMap kernels_;
  bool follows_ = false;
  std::string left_dangling_;
  std::vector<OperatorEntry*> followers_;
  const CppSignature* signature_ = nullptr;
  bool bound_signature_ = false;
  std::string signature_place_;
  std::vector<AskedSignature> asked_;  // different ones
};

/// OpStates are deleted here only: their functors' destructors are users' code and must run unlocked.
inline void freeState(const OpState* s) { delete s; }

/// Throws when the operator has no definition, and says whether it had one.
const SchemaRecord& definitionOf(const OperatorHandle& op);

}  // namespace shunt
