// The table and the trace of a profile.
#include "src/base/counted.h"
#include "src/dispatch/profile_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>

namespace shunt::profile {
namespace {

constexpr char kEvent[] = R"({{"ph": "X", "cat": "operator", "name": "{}", "ts": {}, "dur": {}, "pid": {}, "tid": {}, )"
                          R"("args": {{"keys": "{}"}}}})";

struct Row {
  std::string name;
  Sum sum;
};

std::string nameOf(const Operator& op) { return OperatorHandle(op).operator_name().str(); }

/// The sums of all threads, the largest self time first.
std::vector<Row> rowsOf(const ThreadRecord* all) {
  std::map<std::string, Sum> sums;
  for (const ThreadRecord* r = all; r != nullptr; r = r->next) {
    const std::lock_guard lock(r->mutex);
    for (const auto& [op, sum] : r->sums) {
      Sum& s = sums[nameOf(*op)];
      s.calls += sum.calls;
      s.total += sum.total;
      s.self += sum.self;
    }
  }
  std::vector<Row> rows;
  for (const auto& [name, sum] : sums) rows.push_back({name, sum});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(-a.sum.self, std::string_view(a.name)) < std::pair(-b.sum.self, std::string_view(b.name));
  });
  return rows;
}

uint64_t threadsOf(const ThreadRecord* all) {
  uint64_t n = 0;
  for (const ThreadRecord* r = all; r != nullptr; r = r->next) ++n;
  return n;
}

/// Microseconds with three digits behind the point.
std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

void writeThread(std::ostream& out, const ThreadRecord& record, int64_t began, pid_t pid) {
  const std::lock_guard lock(record.mutex);
  std::map<const Operator*, std::string> names;
  std::map<uint64_t, std::string> keys;
  for (const Event& e : record.events) {
    std::string& name = names[e.op];
    if (name.empty()) name = nameOf(*e.op);
    std::string& text = keys[e.keys];
    if (text.empty()) text = toString(DispatchKeySet::fromRaw(e.keys));
    out << ",\n"
        << fmt::format(kEvent, name, microseconds(e.start - began), microseconds(e.duration), pid, record.tid, text);
  }
}

}  // namespace

std::string tableOf(const ThreadRecord* all) {
  const std::vector<Row> rows = rowsOf(all);
  int64_t calls = 0, self = 0;
  size_t width = 8;
  for (const Row& r : rows) {
    calls += r.sum.calls;
    self += r.sum.self;
    width = std::max(width, r.name.size());
  }
  const auto ms = [](int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; };
  std::string text = fmt::format(
      "shunt: profile of {}: {:.3f} ms in {} of {} on {}, all of them interpreted\n"
      "{:<{}} {:>9} {:>12} {:>12} {:>7} {:>12}\n",
      program_invocation_short_name, ms(self), detail::counted(static_cast<uint64_t>(calls), "call"),
      detail::counted(rows.size(), "operator"), detail::counted(threadsOf(all), "thread"), "operator", width, "calls",
      "total ms", "self ms", "share", "mean us");
  for (const Row& r : rows)
    text += fmt::format("{:<{}} {:>9} {:>12.3f} {:>12.3f} {:>6.1f}% {:>12.3f}\n", r.name, width, r.sum.calls,
                        ms(r.sum.total), ms(r.sum.self),
                        self != 0 ? 100 * static_cast<double>(r.sum.self) / static_cast<double>(self) : 0.0,
                        static_cast<double>(r.sum.self) / 1e3 / static_cast<double>(r.sum.calls));
  if (const int64_t left = eventsLeft().load(std::memory_order_relaxed); left < 0)
    text += fmt::format("the trace lacks the last {} of these calls\n", -left);
  return text;
}

bool writeTrace(const std::string& file, const ThreadRecord* all, int64_t began) {
  std::ofstream out(file);
  const pid_t pid = getpid();
  const nlohmann::json process{
      {"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"args", {{"name", program_invocation_short_name}}}};
  out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
      << process.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const ThreadRecord* r = all; r != nullptr; r = r->next) writeThread(out, *r, began, pid);
  out << "\n]}\n";
  out.close();
  return out.good();
}

}  // namespace shunt::profile
