// A graph's text: what save() and load() write and read, without the constants' elements. Pure functions.
#pragma once

#include <shunt/trace/graph.h>

#include <nlohmann/json.hpp>

#include <unordered_map>

namespace shunt::trace_detail {

/// Of files' layout and of the JSON's members; docs/tracing.md says what raises it. Version 1 lacks the last argument
/// of trace::accumulate_grad_, which its default stands for.
inline constexpr int kGraphVersion = 2, kOldestGraphVersion = 1;

/// Throws for arguments that text can't hold, naming the node.
nlohmann::json toJson(const Graph& graph);

/// The graph of a text that toJson made; `constantOf`: the tensor of a constant, by its value without it. Throws,
/// saying what is wrong, for any other text.
Graph fromJson(const nlohmann::json& text, const std::function<Tensor(const Graph::Value&)>& constantOf);

}  // namespace shunt::trace_detail
