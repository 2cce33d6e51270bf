#include "jit/host/fatal_errors.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <csetjmp>
#include <cstdio>
#include <utility>

namespace shunt::jit {
namespace {

struct Rescue {
  std::jmp_buf point;
  char message[512];  // no allocation: memory may be what is missing
};
thread_local Rescue* rescue = nullptr;

// Returns where nobody waits for it; LLVM aborts then.
void leave(void*, const char* reason, bool) {
  if (rescue == nullptr) {
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  std::snprintf(rescue->message, sizeof rescue->message, "LLVM: %s", reason);
  // Not an exception: LLVM's frames are compiled without, and our destructors would meet modules in pieces.
  std::longjmp(rescue->point, 1);
}

void installHandlers() {
  static const bool installed = [] {
    llvm::install_fatal_error_handler(leave);
    llvm::install_bad_alloc_error_handler(leave);
    return true;
  }();
  static_cast<void>(installed);
}

struct Restore {
  Rescue* outer;
  ~Restore() { rescue = outer; }
};

}  // namespace

std::string stoppingFatalErrors(llvm::function_ref<void()> work) {
  installHandlers();
  Rescue here;
  const Restore restore{rescue};
  if (setjmp(here.point) != 0) return here.message;
  rescue = &here;
  work();
  return "";
}

void reportErrorsAsFatal(llvm::LLVMContext& context) {
  context.setDiagnosticHandlerCallBack([](const llvm::DiagnosticInfo* info, void*) {
    if (info->getSeverity() != llvm::DS_Error) return;
    std::string text;
    llvm::raw_string_ostream out(text);
    llvm::DiagnosticPrinterRawOStream printer(out);
    info->print(printer);
    llvm::report_fatal_error(llvm::StringRef(text), /*gen_crash_diag=*/false);
  });
}

}  // namespace shunt::jit
