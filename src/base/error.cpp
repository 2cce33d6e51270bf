#include "src/base/error_context.h"
#include "src/base/errors_heard.h"

#include <shunt/core/error.h>
#include <shunt/core/interrupt.h>

#include <exception>

namespace shunt {

Interrupt::~Interrupt() = default;

}  // namespace shunt

namespace shunt::detail {

constinit std::atomic<ErrorContext> error_context = nullptr;

constinit thread_local ErrorsHeard* ErrorsHeard::innermost = nullptr;

void ErrorsHeard::hear(const std::string& message) noexcept {
  try {
    messages_.push_back(message);
  } catch (const std::exception&) {
    lost_any_ = true;
  }
}

std::string inContext(std::string message) {
  ErrorsHeard::note(message);
  if (const ErrorContext add = error_context.load(std::memory_order_acquire)) add(message);
  return message;
}

void throwError(std::string message, std::source_location where) { throw Error(message, where); }

void throwIndexError(std::string message, std::source_location where) { throw IndexError(message, where); }

void throwTypeError(std::string message, std::source_location where) { throw TypeError(message, where); }

void throwValueError(std::string message, std::source_location where) { throw ValueError(message, where); }

void throwInternal(const char* condition, std::string message, std::source_location where) {
  throw Error(str("internal error in Shunt: ", condition, " does not hold at ", where.file_name(), ":", where.line(),
                  message.empty() ? "" : ": ", message, ". Please report this with the program that caused it."),
              where);
}

}  // namespace shunt::detail
