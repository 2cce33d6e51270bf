// What the fragments of docs/adapt_your_hardware.md take as given: the parts of a matrix product on the device.
#pragma once

#include <shunt/backend.h>
#include <shunt/shunt.h>

bool areServed(const shunt::Tensor& a, const shunt::Tensor& b);
shunt::Tensor product(const shunt::Tensor& a, const shunt::Tensor& b);
