// DLPack: tensors given to other libraries and taken from them, with one owner at a time.
#include "tests/shape/util.h"

#include <shunt/tensor/storage_pin.h>

#include <limits>
#include <memory>

namespace shunt {
namespace {

using dlpack::DLManagedTensor;
using testing::counted;
using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;
using testing::iota;
using testing::valuesOf;

/// A tensor as another library would export it; counts calls of its deleter.
struct Foreign {
  std::vector<float> data = {0, 1, 2, 3, 4, 5};
  std::vector<int64_t> shape = {2, 3};
  std::vector<int64_t> strides = {3, 1};
  int deleted = 0;
  DLManagedTensor managed{};

  Foreign() {
    managed.dl_tensor = {data.data(),  {dlpack::kDLCPU, 0}, 2, {dlpack::kDLFloat, 32, 1},
                         shape.data(), strides.data(),      0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
};

TEST(DLPack, RoundTripsEveryType) {
  for (ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16}) {
    SCOPED_TRACE(toString(type));
    const Tensor t = iota({2, 3}, type).t();
    const Tensor back = fromDLPack(toDLPack(t));
    EXPECT_EQ(back.dtype(), type);
    EXPECT_EQ(back.data_ptr(), t.data_ptr());
    EXPECT_EQ(back.sizes().vec(), t.sizes().vec());
    EXPECT_EQ(back.strides().vec(), t.strides().vec());
    EXPECT_EQ(valuesOf(back), valuesOf(t));
  }
}

TEST(DLPack, ExportKeepsTheTensorUntilItsDeleterRuns) {
  Tensor t = iota({4});
  DLManagedTensor* managed = toDLPack(t.slice(0, 1));
  t.reset();
  EXPECT_EQ(static_cast<float*>(managed->dl_tensor.data)[2], 3.0f);
  EXPECT_EQ(managed->dl_tensor.shape[0], 3);
  managed->deleter(managed);
}

TEST(DLPack, ImportCallsTheDeleterOnceWhenTheLastViewGoes) {
  Foreign foreign;
  Tensor t = fromDLPack(&foreign.managed);
  EXPECT_EQ(valuesOf(t), counted(6));
  Tensor view = t.select(0, 1);
  t.reset();
  EXPECT_EQ(foreign.deleted, 0);
  EXPECT_THAT(valuesOf(view), ElementsAre(3, 4, 5));
  view.fill_(9);
  EXPECT_EQ(foreign.data[5], 9.0f);
  view.reset();
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(DLPack, AcceptsWhatTheStandardAllows) {
  Foreign foreign;
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.managed.deleter = nullptr;
  EXPECT_EQ(fromDLPack(&foreign.managed).strides().vec(), (std::vector<int64_t>{3, 1}));
  foreign.managed.dl_tensor.byte_offset = 4;
  foreign.shape = {5};
  foreign.managed.dl_tensor.shape = foreign.shape.data();
  foreign.managed.dl_tensor.ndim = 1;
  EXPECT_EQ(valuesOf(fromDLPack(&foreign.managed)), counted(5, 1));
  foreign.managed.dl_tensor.ndim = 0;
  foreign.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(fromDLPack(&foreign.managed).item<float>(), 1.0f);
  foreign.shape = {0};
  foreign.managed.dl_tensor.shape = foreign.shape.data();
  foreign.managed.dl_tensor.ndim = 1;
  foreign.managed.dl_tensor.data = nullptr;
  foreign.managed.dl_tensor.byte_offset = 0;
  EXPECT_EQ(fromDLPack(&foreign.managed).numel(), 0);
}

struct BadCase {
  const char* name;
  std::function<void(Foreign&)> spoil;
  const char* message;
};

TEST(DLPack, RefusesWhatItCannotShareAndLeavesItToTheCaller) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  const BadCase cases[] = {
      {"cuda", [](Foreign& f) { f.managed.dl_tensor.device = {dlpack::kDLCUDA, 1}; },
       "unsupported device type 2 (device 1)"},
      {"lanes", [](Foreign& f) { f.managed.dl_tensor.dtype.lanes = 4; }, "has 4 lanes, expected 1"},
      {"bits", [](Foreign& f) { f.managed.dl_tensor.dtype.bits = 24; }, "unsupported dtype: code 2 with 24 bits"},
      {"code", [](Foreign& f) { f.managed.dl_tensor.dtype.code = 99; }, "unsupported dtype: code 99"},
      {"uint32", [](Foreign& f) { f.managed.dl_tensor.dtype.code = dlpack::kDLUInt; },
       "unsupported dtype: code 1 with 32 bits"},
      {"complex", [](Foreign& f) { f.managed.dl_tensor.dtype = {dlpack::kDLComplex, 64, 1}; },
       "complex tensors are not supported"},
      {"negative ndim", [](Foreign& f) { f.managed.dl_tensor.ndim = -1; },
       "number of dimensions must be between 0 and 64, but got -1"},
      {"many dims", [](Foreign& f) { f.managed.dl_tensor.ndim = 1 << 30; },
       "number of dimensions must be between 0 and 64"},
      {"no shape", [](Foreign& f) { f.managed.dl_tensor.shape = nullptr; }, "a tensor of 2 dimensions has no shape"},
      {"negative shape", [](Foreign& f) { f.shape[0] = -2; }, "negative dimension -2 in shape [-2, 3]"},
      {"negative strides", [](Foreign& f) { f.strides[1] = -1; },
       "negative strides are not supported, got strides [3, -1]"},
      {"numel overflow", [](Foreign& f) { f.shape = {kHuge, kHuge}, f.managed.dl_tensor.shape = f.shape.data(); },
       "overflow"},
      {"stride overflow",
       [](Foreign& f) {
         f.strides[0] = kHuge;
         f.shape[0] = 9;
       },
       "overflow"},
      {"no data", [](Foreign& f) { f.managed.dl_tensor.data = nullptr; }, "a tensor of size [2, 3] has no data"},
      {"byte_offset overflow", [](Foreign& f) { f.managed.dl_tensor.byte_offset = ~uint64_t{0}; },
       "leaves the address space"},
      {"misaligned", [](Foreign& f) { f.managed.dl_tensor.byte_offset = 1; }, "is not aligned for dtype Float"},
  };
  for (const BadCase& c : cases) {
    Foreign foreign;
    c.spoil(foreign);
    EXPECT_THAT(errorOf([&] { fromDLPack(&foreign.managed); }), HasSubstr(c.message)) << c.name;
    EXPECT_EQ(foreign.deleted, 0) << c.name;
  }
  EXPECT_THAT(errorOf([] { fromDLPack(nullptr); }), HasSubstr("the pointer is null"));
  EXPECT_THAT(errorOf([] { toDLPack(Tensor()); }), HasSubstr("the tensor is undefined"));
  EXPECT_THAT(errorOf([] { toDLPack(shunt::empty({2}, TensorOptions(kMeta))); }), HasSubstr("device meta"));
  EXPECT_THAT(errorOf([] { toDLPack(shunt::empty({2}, shunt::requires_grad())); }),
              HasSubstr("Can't export tensors that require gradient"));
}

TEST(DLPack, SharedMemoryIsNotResized) {
  Tensor t = ones({4});
  DLManagedTensor* managed = toDLPack(t);
  EXPECT_TRUE(StoragePin::holds(*t.storage()));
  EXPECT_THROW(t.resize_({1000}), Error);
  const Tensor view = t.slice(0, 0, 2);
  EXPECT_THROW(view.storage()->resize(8000), Error);
  managed->deleter(managed);
  EXPECT_FALSE(StoragePin::holds(*t.storage()));
  EXPECT_EQ(t.resize_({1000}).numel(), 1000);

  StoragePin first(t.storage()), second(t.storage());
  first = StoragePin();
  EXPECT_TRUE(StoragePin::holds(*t.storage()));
  second = std::move(first);
  EXPECT_FALSE(StoragePin::holds(*t.storage()));
}

}  // namespace
}  // namespace shunt
