// shunt graph: a graph that Graph::save left in a file.
#include <shunt/trace/dot.h>
#include <shunt/trace/graph.h>

#include <iostream>
#include <memory>

#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

struct Options {
  std::string file;
  bool verify = false, dot = false, json = false;
};

Graph loadGraph(const std::string& file) {
  try {
    return Graph::load(file);
  } catch (const Error& e) {
    throw Error(withLibraryHint(e.what()));
  }
}

void printGraph(const Options& options) {
  const Graph graph = loadGraph(options.file);
  if (options.verify) {
    try {
      graph.verify();
    } catch (const Error& e) {
      throw Error(options.file + ": " + e.what());
    }
    std::cout << options.file << ": " << graph.nodeCount() << " nodes, " << graph.inputs().size() << " inputs, "
              << graph.constants().size() << " constants, " << graph.outputs().size() << " outputs: no fault found\n";
  } else if (options.dot) {
    std::cout << toDot(graph);
  } else if (options.json) {
    std::cout << graph.toJson() << '\n';
  } else {
    std::cout << graph.print();
  }
}

}  // namespace

Command addGraph(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* graph = app.add_subcommand("graph", "Print a graph that Graph::save wrote");
  graph->add_option("file", options->file, "Written by Graph::save")
      ->type_name("FILE")
      ->check(notEmpty("a file name"))
      ->required();
  CLI::Option* verify = graph->add_flag("--verify", options->verify,
                                        "Check it instead: exit with 1 and the reason where something is wrong");
  CLI::Option* dot =
      graph->add_flag("--dot", options->dot, "Print it for Graphviz: shunt graph --dot FILE | dot -Tsvg");
  graph->add_flag("--json", options->json, "Print its JSON, without the constants' elements")
      ->excludes(verify)
      ->excludes(dot);
  dot->excludes(verify);
  return {graph, [options] {
            printGraph(*options);
            return 0;
          }};
}

}  // namespace shunt::cli
