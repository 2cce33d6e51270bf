// A convolutional network for the digits, and what trains it; on Shunt and, where it is found, on a libtorch twin.
#pragma once

#include "examples/digits/training.h"

namespace digits {

/// Two blocks of convolution (3x3), batch_norm, relu and pooling (8x8 to 4x4 to 2x2), then a linear layer.
namespace conv_net {
constexpr int64_t kSide = 8, kFirst = 16, kSecond = 32, kFeatures = kSecond * 2 * 2;
constexpr double kLearningRate = 0.1, kMomentum = 0.1, kEps = 1e-5;
}  // namespace conv_net

/// The initial parameters flattened one after another: weights of both convolutions and of the linear layer, the rest
/// begins at 0 or 1.
std::vector<float> initialConvWeights();

/// SGD on batches of that many rows.
std::unique_ptr<Trainer> makeShuntConvTrainer(const Data& data, int64_t batch);
/// twin_torch.cpp, only where libtorch is found. One thread.
std::unique_ptr<Trainer> makeTorchConvTrainer(const Data& data, int64_t batch, const std::vector<float>& weights);

}  // namespace digits
