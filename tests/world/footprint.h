// What a step of the model reads and writes, as sets of locations; two steps commute if neither writes what the other
// touches. The lock, the oracle's variables and the store buffers are locations too.
#pragma once

#include <cstdint>

#include "tests/world/model_platform.h"

namespace shunt::world::model {

inline constexpr int kMaxThreads = 5, kMaxLocations = 40;
// Locations of the machine itself, beyond those of the programs.
inline constexpr int kBufferOf = 40;  // + thread
inline constexpr int kLockLocation = 50, kFreedStates = 51, kPublishedGeneration = 52, kMetVersion = 53;

struct Footprint {
  uint64_t reads = 0, writes = 0;
  uint64_t buffered = 0;         // the part of `writes` that goes through a store buffer
  uint64_t unguarded_reads = 0;  // the part of `reads` before the program's next barrier
  bool barrier = false;

  friend bool operator==(const Footprint&, const Footprint&) = default;
  Footprint& operator|=(const Footprint& o) {
    reads |= o.reads;
    writes |= o.writes;
    buffered |= o.buffered;
    unguarded_reads |= o.unguarded_reads;
    barrier = barrier || o.barrier;
    return *this;
  }
  bool conflicts(const Footprint& o) const { return (writes & (o.reads | o.writes)) != 0 || (reads & o.writes) != 0; }
  void read(int location) {
    reads |= uint64_t{1} << location;
    unguarded_reads |= uint64_t{1} << location;
  }
  void write(int location) { writes |= uint64_t{1} << location; }
  void writeBuffered(int location, int thread) {
    write(location);
    write(kBufferOf + thread);
    buffered |= uint64_t{1} << location;
  }
  void drain(int thread) { write(kBufferOf + thread); }

  void add(const Mark& m) {
    switch (m.kind) {
      case MarkKind::kBegin:
        read(kPublishedGeneration);
        if (m.content.owner == Content::kOuter) read(kMetVersion);
        break;
      case MarkKind::kInlined:
        read(kPublishedGeneration);
        read(kMetVersion);
        break;
      case MarkKind::kPublished:
        read(kFreedStates);
        write(kPublishedGeneration);
        break;
      case MarkKind::kEntered:
        read(kFreedStates);
        if (m.content.version != 0) write(kMetVersion);
        break;
      case MarkKind::kUse:
      case MarkKind::kAllDone:
        read(kFreedStates);
        break;
      case MarkKind::kLive:
      case MarkKind::kFree:
        write(kFreedStates);
        break;
      case MarkKind::kEnded:
      case MarkKind::kFail:
      case MarkKind::kFolded:
        break;
    }
  }
  /// An operation of a program on `thread`. A barrier reaches every other thread.
  void add(const Op& op, int thread) {
    switch (op.kind) {
      case OpKind::kLoad:
        read(op.location);
        break;
      case OpKind::kStore:
        writeBuffered(op.location, thread);
        break;
      case OpKind::kExchange:
        read(op.location);
        write(op.location);
        break;
      case OpKind::kLock:
        write(kLockLocation);
        break;
      case OpKind::kUnlock:
        writeBuffered(kLockLocation, thread);
        break;
      case OpKind::kBarrier:
        barrier = true;
        for (int t = 0; t < kMaxThreads; ++t)
          if (t != thread) drain(t);
        break;
      case OpKind::kInspect:
        read(kFreedStates);
        break;
      case OpKind::kAllocate:  // under the lock; a state that is not live yet is as good as a freed one
      case OpKind::kJoin:
      case OpKind::kDone:
        break;
    }
  }
};

}  // namespace shunt::world::model
