// expect: has assembler at file scope
asm(".globl shunt_case\nshunt_case: ret");
int kernel(int x) { return x; }
