// Two generators over the schema language, with round-tripping as the oracle:
//   mutated real signatures either throw a well-formed error or parse to what prints and parses back;
//   random schemas built by hand print to text that parses to the same schema.
#include <gtest/gtest.h>
#include <shunt/core/error.h>
#include <shunt/core/function_schema.h>

#include <bit>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/schema/schema_list.h"
#include "tests/support/seed.h"

namespace shunt {
namespace {

// A parser has no known differences, so each day may try other texts; ten times as many in a long run.
uint64_t drawnSeed() {
  static const uint64_t seed = test::drawnSeed();
  std::cout << "SHUNT_TEST_SEED=" << seed << std::endl;
  return seed;
}
const int kTimes = test::longRun() ? 10 : 1;
#if __has_feature(address_sanitizer)
constexpr int kMutations = 15'000;  // 60 times slower there: every error message is a few small allocations
#else
constexpr int kMutations = 150'000;
#endif
constexpr int kRandomSchemas = 20'000;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// Below n.
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(engine_); }
  bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }
  uint64_t bits() { return engine_(); }
  template <class C>
  const auto& of(const C& choices) {
    return choices[below(std::size(choices))];
  }

 private:
  std::mt19937_64 engine_;
};

constexpr std::string_view kPieces[] = {"(",
                                        ")",
                                        "[",
                                        "]",
                                        ",",
                                        ".",
                                        "...",
                                        "->",
                                        "::",
                                        "?",
                                        "!",
                                        "=",
                                        "|",
                                        "*",
                                        "*, ",
                                        "-",
                                        " ",
                                        "\n",
                                        "'",
                                        "\"",
                                        "\\",
                                        "None",
                                        "True",
                                        "False",
                                        "inf",
                                        "nan",
                                        "Mean",
                                        "Tensor",
                                        "int",
                                        "float",
                                        "Tensor? x=None",
                                        "int[2] s=1",
                                        ", int q=-3",
                                        "(a!)",
                                        "(a -> *)",
                                        "[]",
                                        "[3]",
                                        "?[]",
                                        "1",
                                        "1e-5",
                                        "1e400",
                                        "0.1",
                                        "-1",
                                        "=[1, 2]",
                                        "='x'",
                                        "=True",
                                        "self",
                                        "\xff",
                                        "\x01",
                                        "@",
                                        "99999999999999999999"};

std::string mutate(Random& random, std::string text) {
  const auto& list = test::schemaList();
  const size_t edits = 1 + random.below(3);
  for (size_t i = 0; i < edits; ++i) {
    const size_t at = random.below(text.size() + 1);
    const size_t length = random.below(8);
    switch (random.below(6)) {
      case 0:
        text.insert(at, random.of(kPieces));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.replace(at, length, random.of(kPieces));
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size() + 1), 2 * length));
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(random.bits());
        break;
      default: {
        const std::string& other = random.of(list);
        text = text.substr(0, at) + other.substr(random.below(other.size()));
      }
    }
  }
  return text;
}

std::string asCode(const std::string& text) { return "parseSchema(R\"shunt(" + text + ")shunt\")"; }

/// A line that says what was expected and found, the text, a caret.
bool isWellFormed(const std::string& message) {
  const size_t caret_line = message.rfind('\n');
  if (caret_line == std::string::npos || !message.starts_with("can't parse the schema: expected ")) return false;
  const size_t text_line = message.rfind('\n', caret_line - 1);
  const size_t found = message.find(", found ");
  return text_line != std::string::npos && found < text_line && message.back() == '^' &&
         message.find_first_not_of(' ', caret_line + 1) == message.size() - 1;
}

/// Whether it parsed.
bool parsesOrThrows(const std::string& text) {
  std::optional<FunctionSchema> schema;
  try {
    schema = parseSchema(text);
  } catch (const Error& e) {
    EXPECT_TRUE(isWellFormed(e.what())) << asCode(text) << "\n" << e.what();
    return false;
  }
  const std::string printed = schema->str();
  const FunctionSchema again = parseSchema(printed);
  EXPECT_EQ(again, *schema) << asCode(text);
  EXPECT_EQ(again.str(), printed) << asCode(text);
  return true;
}

TEST(SchemaFuzz, MutatedSignatures) {
  Random random(drawnSeed());
  int parsed = 0;
  for (int i = 0; i < kTimes * kMutations && !testing::Test::HasFailure(); ++i) {
    parsed += parsesOrThrows(mutate(random, random.of(test::schemaList())));
  }
  // The generator is of no use if everything ends on one side.
  EXPECT_GT(parsed, kTimes * kMutations / 20);
  EXPECT_LT(parsed, kTimes * kMutations / 2);
  RecordProperty("parsed", parsed);
}

TEST(SchemaFuzz, EveryPrefixThrows) {
  for (const std::string& text : test::schemaList()) {
    // A return's last characters may be left out and still spell a schema: only the part before them must throw.
    for (size_t length = 0; length <= text.rfind("->") + 2; ++length) {
      EXPECT_FALSE(parsesOrThrows(text.substr(0, length))) << text.substr(0, length);
    }
  }
}

DefaultValue randomElement(Random& random, TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
      return DefaultValue(random.chance(50));
    case TypeKind::Float: {
      const auto value = std::bit_cast<double>(random.bits());
      return DefaultValue(random.chance(50) ? value : static_cast<double>(random.below(2000)) / 8 - 100);
    }
    case TypeKind::String:
    case TypeKind::Device:
    case TypeKind::Dimname: {
      std::string text(random.below(6), ' ');
      for (char& c : text) c = static_cast<char>(random.bits());
      return DefaultValue(text);
    }
    case TypeKind::Tensor:
    case TypeKind::Generator:
      return DefaultValue();
    default:
      return DefaultValue(static_cast<int64_t>(random.chance(50) ? random.bits() : random.below(100)));
  }
}

Type randomType(Random& random, int levels);

std::optional<DefaultValue> randomDefault(Random& random, const Type& type) {
  if (type.optional && random.chance(40)) return DefaultValue();
  const TypeKind kind = type.kind;
  if (kind == TypeKind::Storage || kind == TypeKind::Stream || kind == TypeKind::Dict || kind == TypeKind::Tuple)
    return std::nullopt;
  if (kind == TypeKind::List) {
    DefaultValue::List lists;
    for (size_t i = random.below(3); i > 0; --i) {
      auto inner = randomDefault(random, type.elementType());
      if (!inner) return std::nullopt;
      lists.push_back(*std::move(inner));
    }
    return DefaultValue(std::move(lists));
  }
  if (!type.list) return randomElement(random, type.kind);
  if (type.fixed_size && random.chance(50)) {
    return DefaultValue(DefaultValue::List(static_cast<size_t>(*type.fixed_size), randomElement(random, type.kind)));
  }
  DefaultValue::List list;
  for (size_t i = random.below(4); i > 0; --i) list.push_back(randomElement(random, type.kind));
  return DefaultValue(std::move(list));
}

std::optional<AliasInfo> randomAlias(Random& random) {
  if (random.chance(60)) return std::nullopt;
  const std::string sets[] = {"a", "b", "c", "*"};
  const auto some = [&] {
    return random.chance(70) ? std::vector{random.of(sets)} : std::vector{random.of(sets), random.of(sets)};
  };
  const auto before = some();
  return AliasInfo(before, random.chance(60) ? before : some(), random.chance(50));
}

Type randomBase(Random& random, int levels) {
  if (levels == 0 || random.chance(70)) return *Type::fromName(random.of(knownTypeNames()));
  if (random.chance(50)) {
    const std::string_view keys[] = {"str", "int", "float", "bool", "Tensor"};
    return Type::dict(*Type::fromName(random.of(keys)), randomType(random, levels - 1));
  }
  std::vector<Type> parts;
  for (size_t i = 1 + random.below(3); i > 0; --i) parts.push_back(randomType(random, levels - 1));
  return Type::tuple(std::move(parts));
}

Type randomType(Random& random, int levels) {
  Type type = randomBase(random, levels);
  type.optional = random.chance(20);
  for (int lists = 0; lists < levels && random.chance(40); ++lists) {
    type = Type::listOf(type);
    if (random.chance(40)) type.fixed_size = random.below(5);
    type.optional = random.chance(30);
  }
  return type;
}

Argument randomTypedArgument(Random& random) {
  Argument argument;
  argument.type = randomType(random, 3);
  if (argument.type.kind == TypeKind::List) return argument;
  argument.alias = randomAlias(random);
  if (argument.type.list) argument.container_alias = randomAlias(random);
  return argument;
}

FunctionSchema randomSchema(Random& random) {
  std::vector<Argument> arguments;
  const size_t count = random.below(6);
  const size_t first_kwarg_only = random.below(count + 2);
  bool defaults = false;
  for (size_t i = 0; i < count; ++i) {
    Argument argument = randomTypedArgument(random);
    argument.name = "x" + std::to_string(i);
    argument.kwarg_only = i >= first_kwarg_only;
    defaults = defaults || random.chance(30);
    if (defaults) argument.default_value = randomDefault(random, argument.type);
    // A Storage that must have a default can't be written: end the arguments before it.
    if (defaults && !argument.default_value && !argument.kwarg_only) break;
    arguments.push_back(std::move(argument));
  }
  std::vector<Argument> returns;
  for (size_t i = random.below(4); i > 0; --i) {
    returns.push_back(randomTypedArgument(random));
    if (random.chance(50)) returns.back().name = "r" + std::to_string(i);
  }
  const OperatorName name(random.chance(50) ? "ns::op" : "_op_", random.chance(50) ? "over" : "");
  return FunctionSchema(name, std::move(arguments), std::move(returns), random.chance(10), random.chance(10));
}

TEST(SchemaFuzz, RandomSchemasRoundTrip) {
  Random random(drawnSeed());
  for (int i = 0; i < kTimes * kRandomSchemas && !testing::Test::HasFailure(); ++i) {
    const FunctionSchema schema = randomSchema(random);
    EXPECT_EQ(parseSchema(schema.str()), schema) << asCode(schema.str());
  }
}

}  // namespace
}  // namespace shunt
