// Layout of the symbol table that tools/host_symbols writes into libshunt as `shunt_host_symbols`.
//
// Read-only and without dynamic relocations: every place is the distance from the field that holds it.
#pragma once

#include <cstdint>

namespace shunt::jit {

struct HostSymbolTable {
  static constexpr uint32_t kVersion = 2;

  static constexpr uint32_t kNoAnnotation = UINT32_MAX;

  struct Symbol {
    uint32_t name;        // offset in the names, which end with a zero byte each
    int32_t address;      // distance from this field; 0: libshunt exports it, so the dynamic linker knows its address
    uint32_t annotation;  // offset in the names; kNoAnnotation: none
  };
  struct ThreadLocal {
    uint32_t name;
    int32_t slot;  // distance from this field to the GOT entry with the offset from the thread pointer
  };

  uint32_t version;
  uint32_t symbol_count;  // sorted by name, as bytes
  uint32_t thread_local_count;
  int32_t names;
  int32_t symbols;
  int32_t thread_locals;
  int32_t bitcode_begin;
  int32_t bitcode_end;
};

}  // namespace shunt::jit
