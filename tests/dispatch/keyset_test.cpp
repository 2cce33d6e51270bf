// Keys and keysets: the order, set algebra, slots.
#include "tests/dispatch/util.h"

namespace shunt {
namespace {

// The published order with what stands between, highest first. A change here is a change of semantics.
constexpr const char* kOrder =
    "Python PythonTLSSnapshot Functionalize VmapMode Batched Tracer Named Conjugate Negative ZeroTensor "
    "ADInplaceOrView "
    "AutogradNestedTensor AutogradFunctionality AutogradOther AutocastCPU AutocastCUDA AutocastXPU AutocastHPU "
    "AutocastPrivateUse1 AutocastPrivateUse2 AutocastPrivateUse3 Fake PythonKernel TransformBack BackendSelect "
    "CustomRNGKeyId MkldnnCPU SparseCsrCUDA "
    "SparseCsrCPU "
    "ORT FPGA Metal Vulkan "
    "NestedTensorFunctionality SparseFunctionality QuantizedFunctionality Dense ";

TEST(DispatchKey, OrderIsThePublishedOne) {
  std::string order;
  for (int f = 0; f < kNumFunctionalities; ++f) order += std::string(toString(static_cast<Functionality>(f))) + " ";
  EXPECT_EQ(order, kOrder);
}

TEST(DispatchKey, HigherFunctionalityWinsOverBackend) {
  using K = DispatchKey;
  const K order[] = {K::Python,        K::Functionalize, K::Batched,      K::Tracer,       K::ADInplaceOrView,
                     K::AutogradCPU,   K::AutocastCPU,   K::Fake,         K::PythonKernel, K::TransformBack,
                     K::BackendSelect, K::SparseCPU,     K::QuantizedCPU, K::CPU};
  for (size_t i = 0; i + 1 < std::size(order); ++i)
    EXPECT_EQ(DispatchKeySet({order[i], order[i + 1]}).highestPriorityKey(), order[i])
        << order[i] << " before " << order[i + 1];
}

TEST(DispatchKey, NamesRoundTrip) {
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const auto key = keyOfSlot(slot);
    ASSERT_EQ(parseDispatchKey(toString(key)), key) << toString(key);
  }
  EXPECT_EQ(parseDispatchKey("CatchAll"), DispatchKey::CompositeImplicitAutograd);
  EXPECT_EQ(parseDispatchKey("Autograd"), DispatchKey::Autograd);
  EXPECT_EQ(parseDispatchKey("Autocast"), DispatchKey::Autocast);
  EXPECT_EQ(parseDispatchKey("DefaultBackend"), DispatchKey::CompositeExplicitAutograd);
  EXPECT_EQ(parseDispatchKey("NoSuchKey"), std::nullopt);
  EXPECT_EQ(parseDispatchKey("EndOfRuntimeKeys"), std::nullopt);
}

TEST(DispatchKey, EveryKeyOfTheSeedsExists) {
  for (const char* name : {"CPU",
                           "CUDA",
                           "MPS",
                           "XLA",
                           "HIP",
                           "Vulkan",
                           "QuantizedCPU",
                           "SparseCPU",
                           "SparseCUDA",
                           "AutogradCPU",
                           "AutogradCUDA",
                           "AutogradOther",
                           "AutocastCPU",
                           "AutocastCUDA",
                           "BackendSelect",
                           "PythonKernel",
                           "ADInplaceOrView",
                           "Functionalize",
                           "Python",
                           "Batched",
                           "Tracer",
                           "PrivateUse1",
                           "Meta",
                           "Fake"})
    EXPECT_TRUE(parseDispatchKey(name).has_value()) << name;
}

TEST(DispatchKeySet, EverySlotIsReachedByItsOwnSet) {
  for (int slot = 1; slot < kNumSlots; ++slot) {
    const DispatchKeySet ks(keyOfSlot(slot));
    EXPECT_EQ(ks.highestSlot(), slot);
    EXPECT_TRUE(ks.has(keyOfSlot(slot)));
  }
  EXPECT_EQ(DispatchKeySet().highestPriorityKey(), DispatchKey::Undefined);
  EXPECT_EQ(DispatchKeySet::of(BackendComponent::CUDA).highestPriorityKey(), DispatchKey::Undefined);
}

TEST(DispatchKeySet, Algebra) {
  const DispatchKeySet a{DispatchKey::CPU, DispatchKey::AutogradCPU};
  const DispatchKeySet b{DispatchKey::CUDA, DispatchKey::BackendSelect};
  EXPECT_EQ((a | b).highestPriorityKey(), DispatchKey::AutogradCUDA)
      << "the highest backend goes with every functionality";
  EXPECT_EQ((a & b), DispatchKeySet::of(Functionality::Dense));
  const DispatchKeySet less = a - DispatchKeySet(DispatchKey::AutogradCPU);
  EXPECT_EQ(less, DispatchKeySet(DispatchKey::CPU)) << "difference keeps backend bits";
  EXPECT_EQ(a.remove(DispatchKey::AutogradCPU), DispatchKeySet(DispatchKey::CPU));
  EXPECT_EQ(a.add(DispatchKey::Python).highestPriorityKey(), DispatchKey::Python);
  EXPECT_TRUE(a.has(DispatchKey::CPU));
  EXPECT_FALSE(a.has(DispatchKey::CUDA));
  EXPECT_FALSE(b.has(DispatchKey::AutogradCUDA));
}

TEST(DispatchKeySet, FullAfterKeepsOnlyWhatIsBelow) {
  const DispatchKeySet below = DispatchKeySet::fullAfter(DispatchKey::AutogradCPU);
  EXPECT_FALSE(below.has(DispatchKey::AutogradCPU));
  EXPECT_FALSE(below.has(DispatchKey::ADInplaceOrView));
  EXPECT_TRUE(below.has(DispatchKey::AutocastCPU));
  EXPECT_TRUE(below.has(DispatchKey::CPU));
}

TEST(DispatchKeySet, PartsOfKeys) {
  EXPECT_EQ(DispatchKeySet(DispatchKey::Dense) | DispatchKeySet(BackendComponent::CUDABit),
            DispatchKeySet(DispatchKey::CUDA));
  EXPECT_EQ(toFunctionalityKey(DispatchKey::AutogradCUDA), DispatchKey::AutogradFunctionality);
  EXPECT_EQ(toBackendComponent(DispatchKey::FPGA), BackendComponent::InvalidBit);
  EXPECT_FALSE(isRuntimeKey(DispatchKey::Dense)) << "no kernel can be registered for it";
  EXPECT_FALSE(isRuntimeKey(DispatchKey::StartOfDenseBackends));
  EXPECT_FALSE(isRuntimeKey(DispatchKey::EndOfKeys));
  std::vector<DispatchKey> lowest_first(DispatchKeySet::full().begin(), DispatchKeySet::full().end());
  std::reverse(lowest_first.begin(), lowest_first.end());
  EXPECT_EQ(lowest_first.size(), static_cast<size_t>(kNumSlots - 1));
  EXPECT_EQ(lowest_first.front(), DispatchKey::Python);
}

TEST(DispatchKeySet, PrintsHighestFirst) {
  EXPECT_EQ(toString(DispatchKeySet{DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::ADInplaceOrView}),
            "ADInplaceOrView, AutogradCPU, CPU");
  EXPECT_EQ(toString(DispatchKeySet()), "(none)");
}

TEST(Tls, DefaultsAndGuards) {
  EXPECT_TRUE(tls_is_included(DispatchKey::BackendSelect));
  EXPECT_TRUE(tls_is_included(DispatchKey::ADInplaceOrView));
  EXPECT_TRUE(tls_is_excluded(DispatchKey::AutocastCPU));
  EXPECT_FALSE(tls_is_excluded(DispatchKey::AutogradCPU));
  {
    NoGradGuard no_grad;
    EXPECT_TRUE(tls_is_excluded(DispatchKey::AutogradCPU));
    EnableGradGuard grad;
    EXPECT_FALSE(tls_is_excluded(DispatchKey::AutogradCPU));
  }
  {
    AutoDispatchBelowAutograd below;
    EnableGradGuard grad;
    EXPECT_TRUE(tls_is_excluded(DispatchKey::AutogradCPU)) << "enabling grad must not lift the kernel's own exclusion";
    EXPECT_TRUE(tls_is_excluded(DispatchKey::ADInplaceOrView));
  }
  {
    InferenceMode inference;
    EXPECT_FALSE(tls_is_included(DispatchKey::ADInplaceOrView));
    EXPECT_FALSE(tls_is_excluded(DispatchKey::ADInplaceOrView))
        << "in-place on a normal tensor still bumps its version";
    EXPECT_TRUE(tls_is_excluded(DispatchKey::AutogradCPU));
    EXPECT_FALSE(GradMode::is_enabled());
    InferenceMode off(false);
    EXPECT_TRUE(GradMode::is_enabled());
  }
  {
    IncludeDispatchKeyGuard include(DispatchKey::Tracer);
    EXPECT_TRUE(tls_is_included(DispatchKey::Tracer));
  }
  EXPECT_FALSE(tls_is_included(DispatchKey::Tracer));
  EXPECT_EQ(tls_excluded(), kAutocastKeys.functionalities());
}

}  // namespace
}  // namespace shunt
