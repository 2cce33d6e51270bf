// Results of a compiled function that require grad: what can be asked for after it. For the thread that records, or
// runs.
#pragma once

#include <shunt/trace/graph.h>

#include <string>
#include <vector>

namespace shunt::compiled {

// Note [History that is over]
// A graph has the backward of the function that it was recorded from as nodes (Note [History that nobody sees],
// history.cpp). What can still be asked for is the history of the results. Where backward() inside of the function has
// freed it, asking is an error, and all that a result needs is a node that throws it: CompiledFunctionBackward. Whether
// it is freed is tried out on the fake results of the recording, by a backward() through each.
// A custom autograd function may stand in a history that is over: the engine has called its backward inside of the
// function, and the graph has the operators. A history that goes on through one would need its node, with what forward
// has put into its context, which no graph makes.

/// Why running the operators again wouldn't give a result like this one the history that it has; null where it does.
const char* whyNoGraphHasHistoryOf(const Tensor& fake_result);

/// The name of a custom autograd function in its history, without namespaces; empty: there is none.
std::string customFunctionIn(const Tensor& fake_result);

/// What a backward() from a fake result throws where its history is over; empty where all of it goes on. Throws Error
/// where a part of it is over.
std::string errorOfEndedHistory(const Tensor& fake_result);

/// Gives a result its place at the end of a history that is over: it requires grad, and its backward() throws `error`.
void endHistory(const Tensor& result, const std::string& error);

}  // namespace shunt::compiled
