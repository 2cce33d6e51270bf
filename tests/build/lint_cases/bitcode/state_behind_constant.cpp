// expect: reaches the mutable variable slot
static int slot;
void touch(int* p);
struct Table {
  int* entries[3];
};
static const Table kTable = {{&slot, &slot, nullptr}};
void kernel(int i) { touch(kTable.entries[i]); }
