"""The modules of shunt.nn."""

from shunt.nn.modules.activation import (ELU, GELU, SELU, Dropout, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid,
                                         LogSoftmax, Mish, ReLU, ReLU6, Sigmoid, SiLU, Softmax, Softplus, Softsign, Tanh, Threshold)
from shunt.nn.modules.container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from shunt.nn.modules.conv import Conv1d, Conv2d
from shunt.nn.modules.embedding import Embedding
from shunt.nn.modules.linear import Flatten, Identity, Linear, Unflatten
from shunt.nn.modules.loss import (BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss, NLLLoss,
                                   SmoothL1Loss)
from shunt.nn.modules.module import Module
from shunt.nn.modules.normalization import BatchNorm1d, BatchNorm2d, LayerNorm
from shunt.nn.modules.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from shunt.nn.modules.rnn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from shunt.nn.modules.transformer import MultiheadAttention, TransformerEncoder, TransformerEncoderLayer
