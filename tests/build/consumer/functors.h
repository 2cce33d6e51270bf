// Tests of operators that this project makes from functors of its own.
#pragma once

bool functorsWork();
