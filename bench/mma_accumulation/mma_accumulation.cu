// SPDX-License-Identifier: Apache-2.0
// How mma.sync adds: runs random fragments on the GPU and looks for the fixed-point model that gives the same bits.
//
//   nvcc -O2 -std=c++17 -cudart static -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90a,code=sm_90a \
//        -o mma_accumulation mma_accumulation.cu && ./mma_accumulation > result.json
//
// A model adds the accumulator and `block` products at a time: each addend is cut to a common quantum, `extra` bits below
// the last bit of the largest one, the sum is exact, and the result is rounded or cut to f32.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kM = 16;
constexpr int kN = 8;
constexpr int kTests = 20000;

enum class Type { Bf16, F16, Tf32 };

template <Type kType>
__global__ void run_mma(const uint32_t* a, const uint32_t* b, const float* c, float* d) {
  constexpr int kA = kType == Type::Tf32 ? 4 : 4;
  constexpr int kB = 2;
  const int lane = threadIdx.x;
  const size_t test = blockIdx.x;
  const uint32_t* ra = a + (test * 32 + lane) * kA;
  const uint32_t* rb = b + (test * 32 + lane) * kB;
  const float* rc = c + (test * 32 + lane) * 4;
  float r[4] = {rc[0], rc[1], rc[2], rc[3]};
  if constexpr (kType == Type::Bf16) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  } else if constexpr (kType == Type::F16) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  } else {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  }
  for (int i = 0; i < 4; ++i) {
    d[(test * 32 + lane) * 4 + i] = r[i];
  }
}

struct Random {
  uint64_t state;
  uint64_t next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return state >> 16;
  }
};

// value = mantissa * 2^exponent, mantissa normalized to `bits` bits with its leading one, or 0.
struct Parts {
  int64_t mantissa = 0;
  int exponent = 0;
};

Parts parts_of(float value, int bits) {
  if (value == 0) {
    return {};
  }
  int e = 0;
  const double fraction = std::frexp(static_cast<double>(value), &e);
  return {static_cast<int64_t>(std::ldexp(fraction, bits)), e - bits};
}

struct Model {
  int block;
  int extra;
  // The exponent of a product: the sum of the operands' (its mantissa may reach 4), or that of the product itself.
  bool exponent_of_sum;
  // Cutting an addend: towards zero, or towards minus infinity (two's complement).
  bool cut_to_zero;
  // The end: to nearest even, or towards zero.
  bool round_nearest;
};

int64_t shifted(int64_t mantissa, int by, bool to_zero) {
  if (by >= 0) {
    return mantissa << by;
  }
  if (-by > 62) {
    return to_zero || mantissa >= 0 ? 0 : -1;
  }
  return to_zero && mantissa < 0 ? -((-mantissa) >> -by) : mantissa >> -by;
}

// `a`, `b`: rows of `depth` operands with `bits` significant bits.
float evaluate(const Model& model, const float* a, const float* b, float c, int depth, int bits) {
  float acc = c;
  for (int k0 = 0; k0 < depth; k0 += model.block) {
    Parts addends[17];
    int tops[17];
    int count = 0;
    int top = INT32_MIN;
    const int last = k0 + model.block < depth ? k0 + model.block : depth;
    for (int k = k0; k < last; ++k) {
      const Parts x = parts_of(a[k], bits);
      const Parts y = parts_of(b[k], bits);
      Parts p{x.mantissa * y.mantissa, x.exponent + y.exponent};
      if (p.mantissa == 0) {
        continue;
      }
      // Exponent of the leading bit.
      int lead = p.exponent + 2 * (bits - 1);
      if (!model.exponent_of_sum && std::llabs(p.mantissa) >> (2 * bits - 1) != 0) {
        ++lead;
      }
      tops[count] = lead;
      addends[count++] = p;
    }
    const Parts start = parts_of(acc, 24);
    if (start.mantissa != 0) {
      tops[count] = start.exponent + 23;
      addends[count++] = start;
    }
    for (int i = 0; i < count; ++i) {
      top = tops[i] > top ? tops[i] : top;
    }
    if (count == 0) {
      continue;
    }
    const int quantum = top - 23 - model.extra;
    int64_t sum = 0;
    for (int i = 0; i < count; ++i) {
      sum += shifted(addends[i].mantissa, addends[i].exponent - quantum, model.cut_to_zero);
    }
    const double exact = std::ldexp(static_cast<double>(sum), quantum);
    float rounded = static_cast<float>(exact);
    if (!model.round_nearest && std::fabs(static_cast<double>(rounded)) > std::fabs(exact)) {
      rounded = std::nextafterf(rounded, 0.0F);
    }
    acc = rounded;
  }
  return acc;
}

uint32_t bits_of(float v) {
  uint32_t b;
  std::memcpy(&b, &v, 4);
  return b;
}

float make_operand(Type type, Random& random, int spread) {
  const int mantissa_bits = type == Type::Bf16 ? 7 : 10;
  const int exponent = static_cast<int>(random.next() % static_cast<uint64_t>(2 * spread + 1)) - spread;
  const double fraction = 1.0 + static_cast<double>(random.next() % (1ULL << mantissa_bits)) / static_cast<double>(1 << mantissa_bits);
  return static_cast<float>((random.next() % 2 == 0 ? 1 : -1) * std::ldexp(fraction, exponent));
}

uint16_t half_bits(float v) {
  // Exact: the operands are normal f16 numbers.
  const uint32_t b = bits_of(v);
  return static_cast<uint16_t>(((b >> 16) & 0x8000U) | (((b >> 23) & 0xffU) - 112U) << 10 | ((b >> 13) & 0x3ffU));
}

template <Type kType>
void measure(const char* name, bool is_last) {
  constexpr int kDepth = kType == Type::Tf32 ? 8 : 16;
  constexpr int kSignificant = kType == Type::Bf16 ? 8 : 11;
  std::vector<float> a(size_t{kTests} * kM * kDepth);
  std::vector<float> b(size_t{kTests} * kN * kDepth);
  std::vector<float> c(size_t{kTests} * kM * kN);
  Random random{12345 + static_cast<uint64_t>(kType)};
  for (int t = 0; t < kTests; ++t) {
    const int spread = t % 8;
    for (int i = 0; i < kM * kDepth; ++i) {
      a[size_t(t) * kM * kDepth + i] = make_operand(kType, random, spread);
    }
    for (int i = 0; i < kN * kDepth; ++i) {
      b[size_t(t) * kN * kDepth + i] = make_operand(kType, random, spread);
    }
    for (int i = 0; i < kM * kN; ++i) {
      const double fraction = 1.0 + static_cast<double>(random.next() % (1ULL << 23)) * 0x1p-23;
      const int exponent = static_cast<int>(random.next() % static_cast<uint64_t>(4 * spread + 1)) - 2 * spread;
      c[size_t(t) * kM * kN + i] = t % 5 == 0 ? 0.0F : static_cast<float>((random.next() % 2 == 0 ? 1 : -1) * std::ldexp(fraction, exponent));
    }
  }
  // Fragments (PTX ISA): group = lane / 4, within = lane % 4.
  std::vector<uint32_t> ra(size_t{kTests} * 32 * 4);
  std::vector<uint32_t> rb(size_t{kTests} * 32 * 2);
  std::vector<float> rc(size_t{kTests} * 32 * 4);
  auto pack = [](float low, float high) -> uint32_t {
    if (kType == Type::Bf16) {
      return bits_of(low) >> 16 | (bits_of(high) & 0xffff0000U);
    }
    return half_bits(low) | static_cast<uint32_t>(half_bits(high)) << 16;
  };
  for (size_t t = 0; t < kTests; ++t) {
    const float* ta = a.data() + t * kM * kDepth;
    const float* tb = b.data() + t * kN * kDepth;
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4;
      const int w = lane % 4;
      uint32_t* pa = ra.data() + (t * 32 + lane) * 4;
      uint32_t* pb = rb.data() + (t * 32 + lane) * 2;
      if (kType == Type::Tf32) {
        for (int i = 0; i < 4; ++i) {
          pa[i] = bits_of(ta[(g + 8 * (i % 2)) * kDepth + w + 4 * (i / 2)]);
        }
        for (int i = 0; i < 2; ++i) {
          pb[i] = bits_of(tb[g * kDepth + w + 4 * i]);
        }
      } else {
        for (int i = 0; i < 4; ++i) {
          const float* at = ta + (g + 8 * (i % 2)) * kDepth + 2 * w + 8 * (i / 2);
          pa[i] = pack(at[0], at[1]);
        }
        for (int i = 0; i < 2; ++i) {
          const float* at = tb + g * kDepth + 2 * w + 8 * i;
          pb[i] = pack(at[0], at[1]);
        }
      }
      for (int i = 0; i < 4; ++i) {
        rc[(t * 32 + lane) * 4 + i] = c[t * kM * kN + (g + 8 * (i / 2)) * kN + 2 * w + i % 2];
      }
    }
  }
  uint32_t* da;
  uint32_t* db;
  float* dc;
  float* dd;
  cudaMalloc(&da, ra.size() * 4);
  cudaMalloc(&db, rb.size() * 4);
  cudaMalloc(&dc, rc.size() * 4);
  cudaMalloc(&dd, rc.size() * 4);
  cudaMemcpy(da, ra.data(), ra.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, rb.data(), rb.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dc, rc.data(), rc.size() * 4, cudaMemcpyHostToDevice);
  run_mma<kType><<<kTests, 32>>>(da, db, dc, dd);
  std::vector<float> rd(rc.size());
  cudaMemcpy(rd.data(), dd, rd.size() * 4, cudaMemcpyDeviceToHost);
  if (cudaGetLastError() != cudaSuccess) {
    std::fprintf(stderr, "the kernel did not run\n");
    std::exit(4);
  }
  std::vector<float> d(size_t{kTests} * kM * kN);
  for (size_t t = 0; t < kTests; ++t) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        d[t * kM * kN + (lane / 4 + 8 * (i / 2)) * kN + 2 * (lane % 4) + i % 2] = rd[(t * 32 + lane) * 4 + i];
      }
    }
  }
  // The emulator's model: fused multiply-adds in the order of k, to nearest. Its distance in units of 2^-24 of the sum of
  // magnitudes, which is how tolerances are stated.
  double worst = 0;
  int64_t differ = 0;
  for (size_t i = 0; i < d.size(); ++i) {
    const size_t t = i / (kM * kN);
    const float* ar = a.data() + (t * kM + i / kN % kM) * kDepth;
    const float* br = b.data() + (t * kN + i % kN) * kDepth;
    float sum = c[i];
    double magnitude = std::fabs(static_cast<double>(c[i]));
    for (int k = 0; k < kDepth; ++k) {
      sum = std::fma(ar[k], br[k], sum);
      magnitude += std::fabs(static_cast<double>(ar[k]) * br[k]);
    }
    differ += bits_of(sum) != bits_of(d[i]);
    worst = std::fmax(worst, std::fabs(static_cast<double>(sum) - d[i]) / magnitude * 0x1p24);
  }
  std::printf("  {\"type\":\"%s\",\"outputs\":%zu,\"sequential_fma\":{\"differ\":%lld,\"worst_in_2^-24_of_magnitude\":%.3f},\"models\":[", name,
              d.size(), static_cast<long long>(differ), worst);
  bool is_first = true;
  for (int block : {4, 8, 16}) {
    if (block > kDepth) {
      continue;
    }
    for (int extra = 0; extra <= 4; ++extra) {
      for (int flags = 0; flags < 8; ++flags) {
        const Model model{block, extra, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
        int64_t wrong = 0;
        // Models that are far off are given up early.
        for (size_t i = 0; i < d.size() && !(i > 20000 && wrong > static_cast<int64_t>(i) / 50); ++i) {
          const size_t t = i / (kM * kN);
          const float got = evaluate(model, a.data() + (t * kM + i / kN % kM) * kDepth, b.data() + (t * kN + i % kN) * kDepth,
                                     c[i], kDepth, kSignificant);
          wrong += bits_of(got) != bits_of(d[i]) && !(got == 0 && d[i] == 0);
        }
        if (wrong > static_cast<int64_t>(d.size()) / 50 || wrong > 20000 / 50) {
          continue;
        }
        std::printf("%s\n    {\"block\":%d,\"extra_bits\":%d,\"exponent_of_sum\":%s,\"cut\":\"%s\",\"end\":\"%s\",\"differ\":%lld}",
                    is_first ? "" : ",", block, extra, model.exponent_of_sum ? "true" : "false",
                    model.cut_to_zero ? "to_zero" : "down", model.round_nearest ? "to_nearest" : "to_zero",
                    static_cast<long long>(wrong));
        is_first = false;
      }
    }
  }
  std::printf("]}%s\n", is_last ? "" : ",");
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
  cudaFree(dd);
}

}  // namespace

int main() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) {
    std::fprintf(stderr, "there is no GPU\n");
    return 4;
  }
  std::printf("{\"schema\":\"tw.mma_accumulation/1\",\"machine\":\"%s\",\"results\":[\n", properties.name);
  measure<Type::Bf16>("bf16", false);
  measure<Type::F16>("f16", false);
  measure<Type::Tf32>("tf32", true);
  std::printf("]}\n");
  return 0;
}
