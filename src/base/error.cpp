#include "src/base/error_context.h"

#include <shunt/core/error.h>

namespace shunt::detail {

constinit std::atomic<ErrorContext> error_context = nullptr;

std::string inContext(std::string message) {
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
