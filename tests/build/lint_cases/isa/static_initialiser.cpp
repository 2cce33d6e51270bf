// expect: has a static initialiser (.init_array)
int compute();
namespace SHUNT_ISA_NAMESPACE {
static const int kValue = compute();
int loop() { return kValue; }
}  // namespace SHUNT_ISA_NAMESPACE
