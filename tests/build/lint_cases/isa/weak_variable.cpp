// expect: defines the weak symbol calls
inline int calls = 0;
namespace SHUNT_ISA_NAMESPACE {
int loop() { return ++calls; }
}  // namespace SHUNT_ISA_NAMESPACE
