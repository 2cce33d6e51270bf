#include "src/base/error_context.h"
#include "src/base/errors_heard.h"

#include <shunt/core/error.h>

#include <exception>
#include <functional>

namespace shunt::detail {

constinit std::atomic<ErrorContext> error_context = nullptr;

constinit thread_local ErrorsHeard* ErrorsHeard::innermost = nullptr;

void ErrorsHeard::hear(const std::string& message) noexcept {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
  digest_before_ = digest_;
  digest_ = (digest_ ^ std::hash<std::string>{}(message)) * kOdd | 1;  // never 0 again
  if (digest_before_ != 0) return;
  try {
    first_ = message;
  } catch (const std::exception&) {
    first_.clear();
  }
}

std::string inContext(std::string message) {
  ErrorsHeard::note(message);
  if (const ErrorContext add = error_context.load(std::memory_order_acquire)) add(message);
  return message;
}

void throwError(std::string message, std::source_location where) { throw Error(message, where); }

void throwIndexError(std::string message, std::source_location where) { throw IndexError(message, where); }

void throwInternal(const char* condition, std::string message, std::source_location where) {
  throw Error(str("internal error in Shunt: ", condition, " does not hold at ", where.file_name(), ":", where.line(),
                  message.empty() ? "" : ": ", message, ". Please report this with the program that caused it."),
              where);
}

}  // namespace shunt::detail
