// Where an error was thrown, in the words of a layer above: the dispatcher adds the operators that are running.
//
// Set once, by the dispatcher; read by whichever thread throws, before the exception leaves the call. Without a
// dispatcher (the code generator) messages stay as they are.
#pragma once

#include <atomic>
#include <string>

namespace shunt::detail {

/// Adds what it knows to the message; called on the throwing thread.
using ErrorContext = void (*)(std::string& message);
extern std::atomic<ErrorContext> error_context;

}  // namespace shunt::detail
