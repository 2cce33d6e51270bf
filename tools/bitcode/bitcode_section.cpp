#include "tools/bitcode/bitcode_section.h"

#include <llvm/Bitstream/BitstreamReader.h>

#include <cstdint>
#include <cstring>

namespace shunt::bitcode {
namespace {

constexpr size_t kWord = 4;
constexpr char kMagic[kWord] = {'B', 'C', '\xC0', '\xDE'};

bool isMagic(llvm::StringRef data, size_t offset) {
  return data.size() - offset >= kWord && std::memcmp(data.data() + offset, kMagic, kWord) == 0;
}

bool isPadding(llvm::StringRef data, size_t offset) {
  return data.size() - offset >= kWord && std::memcmp(data.data() + offset, "\0\0\0\0", kWord) == 0;
}

llvm::Error malformed(const char* what, size_t offset) {
  return llvm::createStringError("%s at offset %zu of the section", what, offset);
}

// The offset behind the top-level block that starts at `offset`.
llvm::Expected<size_t> skipBlock(llvm::StringRef data, size_t offset) {
  llvm::BitstreamCursor cursor(data);
  if (llvm::Error error = cursor.JumpToBit(offset * 8)) return std::move(error);
  llvm::Expected<llvm::BitstreamEntry> entry = cursor.advance(llvm::BitstreamCursor::AF_DontAutoprocessAbbrevs);
  if (!entry) return entry.takeError();
  if (entry->Kind != llvm::BitstreamEntry::SubBlock) return malformed("no bitcode block", offset);
  if (llvm::Error error = cursor.SkipBlock()) return std::move(error);
  return static_cast<size_t>(cursor.GetCurrentBitNo() / 8);
}

}  // namespace

llvm::Expected<llvm::StringRef> findSection(const llvm::object::ObjectFile& object) {
  for (const llvm::object::SectionRef& section : object.sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) return name.takeError();
    if (*name == kSectionName) return section.getContents();
  }
  return llvm::createStringError("%s has no section shunt_bc: compile it with shunt_kernel_objects()",
                                 object.getFileName().str().c_str());
}

llvm::Expected<std::vector<llvm::StringRef>> splitModules(llvm::StringRef section) {
  std::vector<llvm::StringRef> modules;
  size_t offset = 0;
  while (offset < section.size()) {
    if (isPadding(section, offset)) {
      offset += kWord;
      continue;
    }
    if (!isMagic(section, offset)) return malformed("no bitcode", offset);
    const size_t begin = offset;
    offset += kWord;
    while (offset < section.size() && !isMagic(section, offset) && !isPadding(section, offset)) {
      llvm::Expected<size_t> end = skipBlock(section, offset);
      if (!end) return end.takeError();
      offset = *end;
    }
    modules.push_back(section.slice(begin, offset));
  }
  return modules;
}

}  // namespace shunt::bitcode
