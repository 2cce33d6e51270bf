// Programs that bench_programs runs as processes of its own: a fixed amount of work each, as a user's program does it.
#pragma once

#include <string>

namespace bench {

/// Does the work; false where there is no workload of that name.
bool runWorkload(const std::string& name, int64_t amount);

}  // namespace bench
