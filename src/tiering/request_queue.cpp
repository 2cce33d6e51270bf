#include "src/tiering/request_queue.h"

#include <utility>

namespace shunt::jit {
namespace {

constexpr size_t kFused = 2;  // behind the two kinds of Waiting

Step stepOf(const RequestQueue::Work& work) {
  const auto* request = std::get_if<CompileRequest>(&work);
  return request != nullptr && request->tier == Tier::kFirst ? Step::kQuick : Step::kThorough;
}

}  // namespace

bool RequestQueue::push(const CompileRequest& request, Waiting waiting, CallCount calls) {
  const auto kind = static_cast<size_t>(waiting);
  return hasRoom(kind) && push(Entry{request, kind, savedByCall(request, waiting), std::move(calls)});
}

// Where only a look at the disk is asked for, nothing would be gained by a compile.
bool RequestQueue::push(std::shared_ptr<FusedLoop>&& loop) {
  if (!hasRoom(kFused)) return false;                        // and the caller keeps it
  CallCount runs = [&l = *loop] { return l.runsWanted(); };  // the entry holds the loop
  return push(Entry{std::move(loop), kFused, savedByRun(), std::move(runs)});
}

bool RequestQueue::push(Entry entry) {
  entries_.push_back(std::move(entry));
  ++counts_[entries_.back().kind];
  return true;
}

void RequestQueue::pushBack(Job job) {
  Entry& entry = job.entry.front();
  entry.looked = true;
  ++counts_[entry.kind];
  entries_.splice(entries_.end(), job.entry);
}

// Half of what was known when something was taken last, and what came since. A count may have begun anew.
double RequestQueue::recentCalls(const Entry& entry) {
  const uint64_t now = entry.calls ? entry.calls() : 0;
  return entry.recent / 2 + static_cast<double>(now >= entry.seen ? now - entry.seen : now);
}

/// Of equal ones the first that came.
RequestQueue::Place RequestQueue::best(bool looked_ones) {
  Place found = entries_.end();
  double most = -1;
  for (Place at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->looked && !looked_ones) continue;
    if (const double s = score(*at); s > most) {
      most = s;
      found = at;
    }
  }
  return found;
}

RequestQueue::Job RequestQueue::remove(Place place, Step step) {
  Job job{{}, step};
  job.entry.splice(job.entry.end(), entries_, place);
  --counts_[job.entry.front().kind];
  for (Entry& e : entries_) {
    e.recent = recentCalls(e);
    e.seen = e.calls ? e.calls() : 0;
  }
  return job;
}

std::optional<RequestQueue::Job> RequestQueue::take(const Allowance& allowance, int64_t& due) {
  due = Budget::kNever;
  if (entries_.empty()) return std::nullopt;
  const bool is_lifted = allowance.is_lifted || allowance.budget.isLifted();
  if (!is_lifted && allowance.may_be_stored) {
    if (const Place place = best(/*looked_ones=*/false); place != entries_.end()) {
      due = allowance.budget.dueAt(Step::kLook);
      if (due > allowance.used) return std::nullopt;
      return remove(place, Step::kLook);
    }
  }
  const Place place = best(/*looked_ones=*/true);
  const Step step = stepOf(place->work);
  due = is_lifted ? 0 : allowance.budget.dueAt(step);
  if (due > allowance.used) return std::nullopt;
  return remove(place, step);
}

}  // namespace shunt::jit
