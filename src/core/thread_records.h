// The list of all threads' frames, for the reclaimer.
#pragma once

#include <shunt/core/tls.h>

#include <functional>
#include <mutex>

namespace shunt::detail {

std::mutex& threadRecordsMutex();
/// Calls f for every record, attached or free (free ones hold no states). Takes the records' lock.
void forEachThreadFrames(const std::function<void(const Frames&)>& f);

}  // namespace shunt::detail
