// Publication: the writers' half of Note [One world per call] (world.h) once there are thunks: what a registration and
// a compile do to them, and what a thunk does before it relies on another operator.
//
// Note [Thunks and the world]
// A thunk relies on table entries: on its own operator's (the chain it was compiled from) and perhaps on other
// operators', its *edges*. It stands in its operator's states, so a call meets it only in a world that has it; an
// operator that has a thunk with an edge on another is that operator's *dependant*. Entries have versions that are
// never used again.
//
// States of a thunk:  compiled -> published (some state holds it) -> invalid (an entry it relied on is about to change;
// in no
//                     state made from then on) -> freed with the last state that holds it. Validity never comes back.
//
// REGISTER, under the lock, after the new states are made (nothing below throws):
//   R3  valid = false (release) for every thunk with an edge on an entry that changes
//   R4  the dependants' states, without those thunks, are exchanged in (seq_cst); then the changed operators' states
// COMPILE P1  under the lock: copy the entries and their versions.  P2  compile, unlocked.
//   P3  under the lock: every edge's version is that of the state in force (acquire), absent entries' too; then
//   exchange
//       in the operator's state with the thunk (seq_cst). Otherwise the thunk is dropped.
// THUNK I1  before each operator that it has inlined: C1 and C2 for that operator, then valid (acquire); false: the
// call goes
//           on in the state of its frame as any other
//
// What each step is for, with B the changed operator and A its dependant, whose thunk T relied on B's old entry:
//   - R3 and I1: a call of A that is inside T when B changes. To T an inlined operator is a new call, so once the
//     registration has returned, or a call on any thread has got B's new entry, it may not be the old one. The new
//     entry is got only through R4's last exchange, which R3 precedes, so whoever knows of it reads `valid` as false.
//   - R4's order: what T folded without asking at I1, because it belongs to the call of A as a whole (a process-wide
//     setting, an entry's absence). Whoever knows of B's new entry finds A's new state, which has no T, at its next
//     call. For an inlined operator the order is not needed: I1 asks later than that. The model shows both. A dependant
//     that changes too, in the same change, is exchanged twice: first its table as it was without T, then with the
//     others. A table can depend on another operator's registrations itself (Note [Stand-ins] in compute_table.h). Such
//     a follower changes in the same change and is exchanged before the operator that it follows, for the same reason.
//   - P3: T is in no state while it is compiled, so R3 cannot find it; the versions tell instead.
// What began before anyone could know of the change may still run the old.
// A process-wide setting changes as an operator does, its value in the place of the state that R4 exchanges last: no
// call that has read the new value, or knows of the change, meets a thunk with the old one. What a thunk has of a
// setting was read when its call was recorded, so its edge's version is older than P1: read before the value, as the
// store comes before the version. The inlined operator's frame keeps what its entries own: a valid thunk's entries are
// those of the frame's state, since a state without them is got through R4, after R3. The compiler makes such thunks of
// composite operators (jit/emit/planned_calls.h); tests/dispatch/thunk_publication_test.cpp makes them by hand.
//
// Templated on the platform as world.h is, and explored with it by tests/world (dependent_world.h) with callers, a
// registrar, a compiler and a reclaimer at once; each bug below is planted there and found.
// Every function here but Validity::holds() is called under the dispatcher's lock.
#pragma once

#include <shunt/core/validity.h>

namespace shunt::world {

/// R3 and R4. `Change` is made ready before and provides
///   forEachStale(f)       f(Validity&) for every thunk with an edge on an entry that changes
///   replaceDependants()   exchanges in the states, without them, of the operators that have such thunks with an edge
///   on
///                         another operator, also of those that change themselves
///   replaceChanged()      exchanges in the states of the operators that change, followers before what they follow; a
///                         setting's value is stored here
/// where exchanging is Reclaimer::publish (world.h).
template <class Bugs = NoPublicationBugs, class Change>
void publishChange(Change&& change) {
  const auto end = [](auto& validity) { validity.end(); };
  if constexpr (!Bugs::kInvalidateLast) change.forEachStale(end);
  if constexpr (Bugs::kChangedFirst) change.replaceChanged();
  if constexpr (!Bugs::kKeepDependants) change.replaceDependants();
  if constexpr (!Bugs::kChangedFirst) change.replaceChanged();
  if constexpr (Bugs::kInvalidateLast) change.forEachStale(end);
}

/// P3's comparison: whether every edge's version is `current(edge)`, the one in force now. If so the caller publishes
/// the thunk, under the same hold of the lock, as a Change of its own operator.
template <class Bugs = NoPublicationBugs, class Edges, class Current>
bool edgesUnchanged(const Edges& edges, Current&& current) {
  if constexpr (!Bugs::kNoVersionCheck)
    for (const auto& edge : edges)
      if (current(edge) != edge.version) return false;
  return true;
}

}  // namespace shunt::world
