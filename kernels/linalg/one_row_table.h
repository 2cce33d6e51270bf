// Which engine multiplies one row by a matrix: Note [One-row products] in one_row.h. As `bench_products` measured it,
// for each kind of OpenBLAS's kernels, on an AMD EPYC of family 25, model 17 (Zen 4), with OpenBLAS 0.3.21:
// OPENBLAS_CORETYPE=SkylakeX for kAvx512; Haswell for kAvx2 and Nehalem for kSse, both with SHUNT_ISA=v3, since
// LIBXSMM's code is for AVX2 on such CPUs.
//
// Cells: g gemm, v gemv, s LIBXSMM, or gemv where it has no kernel, S LIBXSMM, or gemm; d dot products (row_dots.h), or
// gemv, D dot products, or gemm. Row i of a grid is for 2^i <= n < 2^(i+1), column j for 2^j <= k < 2^(j+1); the last
// ones are for all larger sizes too. Constants; any thread.
#pragma once

#include "kernels/linalg/blas.h"

#include <string_view>

namespace shunt::linalg {

enum class RowChoice : char {
  kGemm = 'g',
  kGemv = 'v',
  kSmallOrGemv = 's',
  kSmallOrGemm = 'S',
  kDotsOrGemv = 'd',
  kDotsOrGemm = 'D'
};

inline constexpr int kRowBuckets = 12;
using RowGrid = std::string_view[kRowBuckets];
using RowTable = RowGrid[2][2];  // [of double][of a transposed matrix]

inline constexpr RowTable kRowsAvx512 = {
    {
        // float, the matrix as it is
        {"SSSSSSvvvvvv", "SSSSSSgggggg", "SSSSSSgggggg", "SSSSSSSSSSgg", "SSSSSsSSSSgg", "SSSSSSSSSSgg", "SSSSSsSSvSgg",
         "SSSSSSSggggg", "SSSSSggggvvv", "SSSSggggvvvv", "ggggvvggvvvv", "gggggvggvvvv"},
        // float, the matrix transposed
        {"dddddDDggggg", "dddddDDDgggg", "dddddDDDDggg", "dddddDDDDggg", "dddddDDDDDgg", "vvvddDDDDggg", "vvvddDDDDggg",
         "vvvddDDgDggg", "vvvddDDgDggg", "vvvddDDgDggv", "vvvddddddvvd", "vvvdddddddvd"},
    },
    {
        // double, the matrix as it is
        {"SSSSsvvvvvvv", "SSSSssvvgggv", "SSSSSSSSSSgg", "SSSSSSSSSSgg", "SSSSSSSSSSgg", "SSSSSSSgSSgg", "SSSSSSgggggg",
         "SSSSSggggggg", "SSSSgggggggv", "SSSSgvvvvvvv", "gggggvvvvvvv", "ggggvvvvvvvv"},
        // double, the matrix transposed
        {"dddddDDggggg", "dddddDDggggg", "dddddDDDDggD", "dddddDDDDDDg", "dddddDDDDggg", "sddddDDggggg", "svdddDDDgvgg",
         "svdddDDDgggg", "svdddDDDDggg", "svDddDDDDggd", "vvddddddvvvd", "vvdddddvvddd"},
    },
};

inline constexpr RowTable kRowsAvx2 = {
    {
        // float, the matrix as it is
        {"sssssvvvvvvv", "sssssvvvvvvv", "sssssssvvvvv", "sssssvvvvvvv", "ssssssvvvvvv", "ssssssvvvvvv", "sssssssvvvvv",
         "ssssssvvvvvv", "sssssvvvvvvv", "sssssvvvvvvv", "vvvvvvvvvvvv", "vvvvvvvvvvvv"},
        // float, the matrix transposed
        {"ddddddddvvvv", "dddddddddddd", "dddddddddddd", "ddDddddddddd", "ddddddddddvv", "ddDdddddddvv", "svDdddddddvv",
         "svDddddddvvv", "svDdddddddvv", "svDdddddddvv", "vvDdddddddvd", "vvDdddddddvd"},
    },
    {
        // double, the matrix as it is
        {"sssssvvvvvvv", "ssssssvvvvvv", "sssssssvvvvv", "ssssssvvvvvv", "ssssssssvvvv", "sssssssvvvvv", "sssssssvvvvv",
         "ssssssvvvvvv", "sssssvvvvvvv", "ssssvvvvvvvv", "vvvvvvvvvvvv", "vvvvvvvvvvvv"},
        // double, the matrix transposed
        {"dddddddvvvvv", "ddddddddvvvv", "ddddddddvvvv", "dddddddddddd", "dddddddddvvv", "ddddddddvvvv", "sdddddddvvvv",
         "svddddddvvvv", "svDdddddvvvv", "svDdddddvvvd", "vvDdddddvvdd", "vvDdddvvvddd"},
    },
};

inline constexpr RowTable kRowsSse = {
    {
        // float, the matrix as it is
        {"sssssvvvvvvv", "sssssvvvvvvv", "ssssssvvvvvv", "ssssssvvvvvv", "sssssssvvvvv", "ssssssssssvv", "ssssssssssvv",
         "ssssssssssvv", "ssssssssssvv", "sssssssssvvv", "vvvvvvvvvvvv", "vvvvvvvvvvvv"},
        // float, the matrix transposed
        {"ddddddddvvvv", "dddddddddddd", "dddddddddddd", "dddddddddddd", "dddddddddddd", "sddddddddddd", "svdddddddddd",
         "svdddddddddd", "svdddddddddd", "svdddddddddd", "vvdddddddddd", "vvdddddddddd"},
    },
    {
        // double, the matrix as it is
        {"sssssvvvvvvv", "sssssvvvvvvv", "sssssssvvvvv", "sssssssvvvvv", "ssssssssssvv", "ssssssssssvv", "ssssssssssvv",
         "ssssssssssvv", "ssssssssvvvv", "sssssvvvvvvv", "vvvvvvvvvvvv", "vvvvvvvvvvvv"},
        // double, the matrix transposed
        {"ddddddddddvv", "dddddddddddd", "dddddddddddd", "dddddddddddd", "dddddddddddd", "sddddddddddd", "sddddddddddd",
         "ssdddddddddd", "ssdddddddddd", "ssdddddddddd", "dddddddddddd", "vvdddddddddd"},
    },
};

/// Not measured, or with a gemv whose bits depend on how the matrix is aligned (dgemv of Prescott, Core2 and Penryn).
inline constexpr RowTable kRowsUnknown = {
    {{"gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg",
      "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg"},
     {"gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg",
      "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg"}},
    {{"gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg",
      "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg"},
     {"gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg",
      "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg", "gggggggggggg"}}};

inline const RowTable& rowTableFor(BlasKernels kernels) {
  switch (kernels) {
    case BlasKernels::kAvx512:
      return kRowsAvx512;
    case BlasKernels::kAvx2:
      return kRowsAvx2;
    case BlasKernels::kSse:
      return kRowsSse;
    case BlasKernels::kOther:
      break;
  }
  return kRowsUnknown;
}

}  // namespace shunt::linalg
