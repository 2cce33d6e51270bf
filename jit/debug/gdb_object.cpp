#include "jit/debug/gdb_object.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/BinaryFormat/ELF.h>

#include <cstring>
#include <mutex>

// gdb looks for these two names and this layout. Protected: another JIT of the process may have its own.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
// gdb stops here and reads the descriptor.
[[gnu::visibility("protected"), gnu::noinline, gnu::used]] void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
[[gnu::visibility("protected"), gnu::used]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
}

namespace shunt::jit {
namespace {

constexpr uint32_t kRegister = 1, kUnregister = 2;

std::mutex list_mutex;

void tellGdb(jit_code_entry& entry, uint32_t action) {
  __jit_debug_descriptor.relevant_entry = &entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.relevant_entry = nullptr;
  __jit_debug_descriptor.action_flag = 0;
}

/// Sets the addresses of what is in memory; the object stays relocatable otherwise, and gdb relocates what it reads.
bool placeSections(llvm::MutableArrayRef<char> object, const SectionAddresses& sections) {
  using namespace llvm::ELF;
  if (object.size() < sizeof(Elf64_Ehdr)) return false;
  auto* header = reinterpret_cast<Elf64_Ehdr*>(object.data());
  if (!header->checkMagic() || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
    return false;
  if (header->e_shoff + uint64_t{header->e_shnum} * sizeof(Elf64_Shdr) > object.size() ||
      header->e_shstrndx >= header->e_shnum)
    return false;
  const llvm::MutableArrayRef table(reinterpret_cast<Elf64_Shdr*>(object.data() + header->e_shoff), header->e_shnum);
  const Elf64_Shdr& names = table[header->e_shstrndx];
  if (names.sh_offset + names.sh_size > object.size()) return false;
  for (Elf64_Shdr& s : table) {
    if ((s.sh_flags & SHF_ALLOC) == 0 || s.sh_name >= names.sh_size) continue;
    const llvm::StringRef name(object.data() + names.sh_offset + s.sh_name);
    const auto* found = llvm::find_if(sections, [&](const auto& section) { return section.first == name; });
    s.sh_addr = found != sections.end() ? found->second : 0;
  }
  return true;
}

}  // namespace

struct GdbObject::Entry {
  jit_code_entry link{};
  std::unique_ptr<char[]> object;
};

GdbObject::GdbObject(llvm::StringRef object, const SectionAddresses& sections) {
  auto entry = std::make_unique<Entry>();
  entry->object = std::make_unique<char[]>(object.size());  // aligned for its headers
  std::memcpy(entry->object.get(), object.data(), object.size());
  if (!placeSections({entry->object.get(), object.size()}, sections)) return;
  jit_code_entry& link = entry->link;
  link.symfile_addr = entry->object.get();
  link.symfile_size = object.size();
  std::lock_guard lock(list_mutex);
  link.next_entry = __jit_debug_descriptor.first_entry;
  if (link.next_entry != nullptr) link.next_entry->prev_entry = &link;
  __jit_debug_descriptor.first_entry = &link;
  tellGdb(link, kRegister);
  entry_ = std::move(entry);
}

void gdb::beforeFork() { list_mutex.lock(); }
void gdb::afterFork() { list_mutex.unlock(); }

GdbObject::GdbObject() = default;
GdbObject::GdbObject(GdbObject&&) noexcept = default;

GdbObject::~GdbObject() {
  if (entry_ == nullptr) return;
  jit_code_entry& link = entry_->link;
  std::lock_guard lock(list_mutex);
  if (link.prev_entry != nullptr)
    link.prev_entry->next_entry = link.next_entry;
  else
    __jit_debug_descriptor.first_entry = link.next_entry;
  if (link.next_entry != nullptr) link.next_entry->prev_entry = link.prev_entry;
  tellGdb(link, kUnregister);
}

}  // namespace shunt::jit
