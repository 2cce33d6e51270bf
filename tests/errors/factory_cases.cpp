// Making tensors: sizes, values, random parameters, memory of others, DLPack.
#include "tests/errors/bed.h"

#include <limits>

namespace shunt::testing {

static constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
static constexpr double kInf = std::numeric_limits<double>::infinity();

static std::vector<BadInput> sizeCases() {
  return {
      {"empty: negative size", {"empty", "-1", "[2, -1]"}, [](Bed&) { shunt::empty({2, -1}); }},
      {"zeros: negative size", {"zeros", "-3", "[-3]"}, [](Bed&) { shunt::zeros({-3}); }},
      {"empty: numel overflows", {"empty", "overflow"}, [](Bed&) { shunt::empty({kHuge, 4}); }},
      {"empty: bytes overflow", {"empty", "overflow"}, [](Bed&) { shunt::empty({kHuge}); }},
      {"empty: more memory than there is", {"bytes"}, [](Bed&) { shunt::empty({int64_t{1} << 58}); }},
      {"meta: bytes overflow", {"empty", "overflow"}, [](Bed&) { shunt::empty({kHuge, 3}, TensorOptions(kMeta)); }},
      {"empty_strided: lengths", {"empty_strided", "2", "1"}, [](Bed&) { shunt::empty_strided({2, 3}, {1}); }},
      {"empty_strided: negative stride", {"empty_strided", "-1"}, [](Bed&) { shunt::empty_strided({2}, {-1}); }},
      {"empty_strided: overflow", {"empty_strided", "overflow"}, [](Bed&) { shunt::empty_strided({3}, {kHuge}); }},
      {"randn: negative size", {"randn", "-2"}, [](Bed&) { shunt::randn({-2}); }},
      {"eye: negative", {"eye", "-1"}, [](Bed&) { shunt::eye(-1); }},
      {"from_blob: data on meta",
       {"from_blob", "meta", "pointer"},
       [](Bed& bed) { shunt::from_blob(bed.foreign.data.data(), {2}, TensorOptions(kMeta)); }},
      {"from_blob: null", {"from_blob", "null"}, [](Bed&) { shunt::from_blob(nullptr, {2}); }},
      {"from_blob: negative size",
       {"from_blob", "-2"},
       [](Bed& bed) { shunt::from_blob(bed.foreign.data.data(), {-2}); }},
      {"from_blob: lengths",
       {"from_blob", "2", "1"},
       [](Bed& bed) { shunt::from_blob(bed.foreign.data.data(), {2, 3}, {1}); }},
      {"from_blob: negative stride",
       {"from_blob", "-1"},
       [](Bed& bed) { shunt::from_blob(bed.foreign.data.data(), {2}, {-1}); }},
      {"tensor: ragged list",
       {"sizes: 2 (e.g. {1, 2})", "sub-list {3} with sizes: 1"},
       [](Bed&) { shunt::tensor({{1, 2}, {3}}); }},
      {"tensor: mixed list", {"Int", "Float"}, [](Bed&) { shunt::tensor({1, 2.f}); }},
  };
}

static std::vector<BadInput> valueCases() {
  return {
      {"arange: zero step", {"arange", "step", "nonzero"}, [](Bed&) { shunt::arange(0, 5, Scalar(0)); }},
      {"arange: a literal zero as step", {"arange", "step", "nonzero"}, [](Bed&) { shunt::arange(0, 2, 0); }},
      {"arange: wrong direction", {"arange", "bound", "step"}, [](Bed&) { shunt::arange(5, 0, 1); }},
      {"arange: infinite end", {"arange", "inf"}, [](Bed&) { shunt::arange(0.0, kInf, 1.0); }},
      {"arange: NaN", {"arange", "nan"}, [](Bed&) { shunt::arange(kNan); }},
      {"arange: too long", {"arange", "overflow"}, [](Bed&) { shunt::arange(0.0, 1e300, 1e-3); }},
      {"linspace: steps", {"linspace", "steps", "-1"}, [](Bed&) { shunt::linspace(0, 1, -1); }},
      {"full: value out of range", {"full", "Char", "300"}, [](Bed&) { shunt::full({2}, 300, TensorOptions(kChar)); }},
      {"full: negative size", {"full", "-2"}, [](Bed&) { shunt::full({-2}, 1); }},
      {"randint: empty range", {"randint", "from=3", "to=3"}, [](Bed&) { shunt::randint(3, 3, {2}); }},
      {"randint: outside the type",
       {"randint", "Byte", "299"},
       [](Bed&) { shunt::randint(300, {2}, TensorOptions(kByte)); }},
      {"randperm: of bools", {"randperm", "Bool"}, [](Bed&) { shunt::randperm(2, TensorOptions(kBool)); }},
      {"linspace: of bools", {"linspace", "Bool"}, [](Bed&) { shunt::linspace(0, 1, 2, TensorOptions(kBool)); }},
      {"empty_out: a memory format",
       {"memory_format", "out"},
       [](Bed& bed) { shunt::empty_out(bed.a, {2}, MemoryFormat::Contiguous); }},
      {"randperm: negative", {"randperm", "-1"}, [](Bed&) { shunt::randperm(-1); }},
      {"randperm: too many for the type",
       {"randperm", "300", "Byte"},
       [](Bed&) { shunt::randperm(300, TensorOptions(kByte)); }},
      {"bernoulli: p", {"bernoulli", "1.5"}, [](Bed& bed) { bed.a.bernoulli(1.5); }},
      {"bernoulli_: p", {"bernoulli_", "-0.5"}, [](Bed& bed) { bed.a.bernoulli_(-0.5); }},
      {"bernoulli_: NaN", {"bernoulli_", "nan"}, [](Bed& bed) { bed.a.bernoulli_(kNan); }},
      {"bernoulli: tensor of p", {"bernoulli", "[0, 1]", "p=2"}, [](Bed& bed) { bed.a.bernoulli(); }},
      {"bernoulli: longs", {"bernoulli", "Long"}, [](Bed& bed) { bed.longs.bernoulli(); }},
      {"uniform_: order", {"uniform_", "from", "2", "1"}, [](Bed& bed) { bed.a.uniform_(2, 1); }},
      {"uniform_: outside the type", {"uniform_", "Float"}, [](Bed& bed) { bed.a.uniform_(-1e300, 1e300); }},
      {"uniform_: NaN", {"uniform_", "nan"}, [](Bed& bed) { bed.a.uniform_(kNan, 1); }},
      {"normal_: std", {"normal_", "std", "-1"}, [](Bed& bed) { bed.a.normal_(0, -1); }},
      {"normal: std", {"normal", "std", "-1"}, [](Bed&) { shunt::normal(0, -1, {2}); }},
      {"random_: empty range", {"random_", "from", "to"}, [](Bed& bed) { bed.a.random_(5, 5); }},
      {"rand: of longs", {"rand", "Long"}, [](Bed&) { shunt::rand({2}, TensorOptions(kLong)); }},
      {"randn: of longs", {"randn", "Long"}, [](Bed&) { shunt::randn({2}, TensorOptions(kLong)); }},
  };
}

/// A row that spoils one field of a DLPack tensor.
static BadInput dlpackRow(const char* name, std::vector<std::string> parts, std::function<void(ForeignTensor&)> spoil) {
  parts.push_back("DLPack");
  return {name, std::move(parts), [](Bed& bed) { fromDLPack(&bed.foreign.managed); },
          [spoil](Bed& bed) { spoil(bed.foreign); }};
}

static std::vector<BadInput> dlpackCases() {
  return {
      {"dlpack: null", {"DLPack", "null"}, [](Bed&) { fromDLPack(nullptr); }},
      {"dlpack: export of undefined", {"DLPack", "undefined"}, [](Bed& bed) { toDLPack(bed.undefined); }},
      {"dlpack: export of meta", {"DLPack", "meta"}, [](Bed& bed) { toDLPack(bed.meta); }},
      {"dlpack: export of a leaf", {"require gradient", "detach()"}, [](Bed& bed) { toDLPack(bed.leaf); }},
      dlpackRow("dlpack: cuda", {"device", "2"},
                [](ForeignTensor& f) { f.managed.dl_tensor.device = {dlpack::kDLCUDA, 1}; }),
      dlpackRow("dlpack: unknown device", {"device", "77"},
                [](ForeignTensor& f) { f.managed.dl_tensor.device = {77, 0}; }),
      dlpackRow("dlpack: lanes", {"4 lanes", "expected 1"},
                [](ForeignTensor& f) { f.managed.dl_tensor.dtype.lanes = 4; }),
      dlpackRow("dlpack: bits", {"code 2", "24 bits"}, [](ForeignTensor& f) { f.managed.dl_tensor.dtype.bits = 24; }),
      dlpackRow("dlpack: code", {"code 99"}, [](ForeignTensor& f) { f.managed.dl_tensor.dtype.code = 99; }),
      dlpackRow("dlpack: complex", {"complex"},
                [](ForeignTensor& f) { f.managed.dl_tensor.dtype = {dlpack::kDLComplex, 64, 1}; }),
      dlpackRow("dlpack: negative ndim", {"dimensions", "-1"}, [](ForeignTensor& f) { f.managed.dl_tensor.ndim = -1; }),
      dlpackRow("dlpack: truncated, no shape", {"2 dimensions", "shape"},
                [](ForeignTensor& f) { f.managed.dl_tensor.shape = nullptr; }),
      dlpackRow("dlpack: truncated, no data", {"[2, 3]", "no data"},
                [](ForeignTensor& f) { f.managed.dl_tensor.data = nullptr; }),
      dlpackRow("dlpack: negative shape", {"-2", "[-2, 3]"}, [](ForeignTensor& f) { f.shape[0] = -2; }),
      dlpackRow("dlpack: negative stride", {"negative strides", "[3, -1]"},
                [](ForeignTensor& f) { f.strides[1] = -1; }),
      dlpackRow("dlpack: numel overflows", {"overflow"}, [](ForeignTensor& f) { f.shape[0] = f.shape[1] = kHuge; }),
      dlpackRow("dlpack: bytes overflow", {"overflow"},
                [](ForeignTensor& f) {
                  f.strides[0] = kHuge;
                  f.shape[0] = 9;
                }),
      dlpackRow("dlpack: misaligned", {"aligned", "Float"},
                [](ForeignTensor& f) { f.managed.dl_tensor.byte_offset = 1; }),
  };
}

std::vector<BadInput> factoryCases() {
  std::vector<BadInput> rows;
  for (auto* table : {&sizeCases, &valueCases, &dlpackCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
