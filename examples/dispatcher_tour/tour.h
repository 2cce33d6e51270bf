// The tour's stops, by the file they stand in. Each prints to stdout.
#pragma once

namespace tour {

// keys.cpp
void priorities();
void keysets();
void twoTensors();

// registration.cpp
void ownKernel();
void customOperator();
void precedence();
void boxedFallback();
void decomposition();
void structured();
void dump();

// modes.cpp
void autograd();
void noGrad();
void customGradient();
void views();
void autocast();
void backendSelect();
void why();

}  // namespace tour
