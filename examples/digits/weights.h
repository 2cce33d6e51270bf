// The network's weights in a file: trained and saved by one run of the program, loaded by another.
#pragma once

#include "examples/digits/data.h"

#include <string>

namespace digits {

/// Trains the reference configuration, saves its weights (.safetensors or .npz), and prints what it predicts.
void trainAndSave(const Data& data, int epochs, const std::string& path);

/// Loads weights and prints what they predict: what was printed when they were saved.
void loadAndPredict(const Data& data, const std::string& path);

}  // namespace digits
