// The process's anonymous memory (heap, stacks: not files and libraries), from the kernel.
#pragma once

namespace digits {

/// RssAnon of /proc/self/status in MiB; throws where the kernel doesn't tell.
double anonymousMemory();

}  // namespace digits
