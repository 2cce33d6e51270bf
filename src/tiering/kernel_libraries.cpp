// The libraries that made themselves known by a KernelLibrary object.
#include <shunt/core/fork.h>
#include <shunt/jit/kernel_library.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>

namespace shunt::jit {
namespace {

struct Registry {
  std::mutex mutex;  // level 3. The dynamic linker's lock, which loading and unloading hold, comes before it
  std::vector<LibraryLease> libraries;  // guarded by mutex
  uint64_t last_number = 0;             // guarded by mutex
  std::atomic<uint64_t> generation{0};  // changed under mutex
};

Registry& registry() {
  static Registry* const made = [] {
    auto* r = new Registry;  // never destroyed: libraries go at exit too
    shunt::detail::holdAcrossFork(3, [] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); });
    return r;
  }();
  return *made;
}
[[maybe_unused]] const Registry& made_at_load = registry();

bool contains(const std::vector<LoadedLibrary::Range>& ranges, const void* address) {
  const auto at = reinterpret_cast<uint64_t>(address);
  return std::any_of(ranges.begin(), ranges.end(), [at](const auto& r) { return r.first <= at && at < r.second; });
}

/// Path, bias and segments of the library or program that an address lies in; false if it lies in none.
bool describe(const void* inside, LoadedLibrary& out) {
  struct Search {
    const void* inside;
    LoadedLibrary& out;
    bool first = true, found = false;
  } search{inside, out};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        const bool main_program = std::exchange(s.first, false);
        std::vector<LoadedLibrary::Range> segments;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& p = info->dlpi_phdr[i];
          if (p.p_type == PT_LOAD)
            segments.emplace_back(info->dlpi_addr + p.p_vaddr, info->dlpi_addr + p.p_vaddr + p.p_memsz);
        }
        if (!contains(segments, s.inside)) return 0;
        s.out.main_program = main_program;
        s.out.path = main_program ? "/proc/self/exe" : info->dlpi_name;
        s.out.bias = info->dlpi_addr;
        s.out.segments = std::move(segments);
        s.found = true;
        return 1;
      },
      &search);
  std::error_code ignored;  // then the path stays as it is
  if (const auto full = std::filesystem::canonical(out.path, ignored); !full.empty()) out.path = full.string();
  return search.found;
}

}  // namespace

KernelLibrary::KernelLibrary(const char* begin, const char* end) {
  auto library = std::make_shared<LoadedLibrary>();
  if (begin == end || !describe(begin, *library)) return;
  library->bitcode = std::make_shared<const std::string>(begin, end);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  library->number = number_ = ++r.last_number;
  r.libraries.push_back(std::move(library));
  r.generation.fetch_add(1, std::memory_order_release);
}

KernelLibrary::~KernelLibrary() {
  if (number_ == 0) return;
  LibraryLease gone;  // freed without the lock, if no compile has it
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const auto at = std::find_if(r.libraries.begin(), r.libraries.end(),
                               [this](const LibraryLease& l) { return l->number == number_; });
  gone = std::move(*at);
  r.libraries.erase(at);
  r.generation.fetch_add(1, std::memory_order_release);
}

std::vector<LibraryLease> kernel_libraries() {
  std::lock_guard lock(registry().mutex);
  return registry().libraries;
}

void withLoadedLibraries(FunctionRef<void(const std::vector<LibraryLease>&)> use) {
  std::lock_guard lock(registry().mutex);
  use(registry().libraries);
}

uint64_t libraryNumberOf(const void* address) {
  std::lock_guard lock(registry().mutex);
  for (const LibraryLease& library : registry().libraries)
    if (contains(library->segments, address)) return library->number;
  return 0;
}

uint64_t libraryGeneration() { return registry().generation.load(std::memory_order_acquire); }

}  // namespace shunt::jit
