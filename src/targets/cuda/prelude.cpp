// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/prelude.h"

#include <vector>

#include "base/check.h"

namespace tw::targets::cuda {
namespace {

struct Helper {
  std::string_view name;
  // Names of helpers that its text calls.
  std::vector<std::string_view> needs;
  std::string_view text;
};

// In an order that compiles. Everything is spelled out in PTX or plain C++, so that no header is needed.
const std::vector<Helper>& helpers() {
  static const std::vector<Helper> all = {
      {"tw_min", {}, R"(template <class T>
__device__ __forceinline__ T tw_min(T a, T b) { return a < b ? a : b; }
)"},
      {"tw_max", {}, R"(template <class T>
__device__ __forceinline__ T tw_max(T a, T b) { return a > b ? a : b; }
)"},
      {"tw_floor_div", {}, R"(// Rounds towards minus infinity.
template <class T>
__device__ __forceinline__ T tw_floor_div(T a, T b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
)"},
      {"tw_floor_mod", {}, R"(// Has the sign of b.
template <class T>
__device__ __forceinline__ T tw_floor_mod(T a, T b) {
  T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
      {"tw_ceil_div", {}, R"(template <class T>
__device__ __forceinline__ T tw_ceil_div(T a, T b) { return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0); }
)"},
      {"tw_room", {}, R"(// How many coordinates of [0, extent) are below `left`.
__device__ __forceinline__ int tw_room(long long left, int extent) {
  return left < 0 ? 0 : (left < extent ? (int)left : extent);
}
)"},
      {"tw_swizzle",
       {},
       R"(// Of a byte offset: the bits under `mask`, shifted down by `shift`, are xored into the bits below.
__device__ __forceinline__ unsigned tw_swizzle(unsigned offset, unsigned mask, int shift) {
  return offset ^ ((offset & mask) >> shift);
}
)"},
      {"tw_lo16",
       {},
       R"(__device__ __forceinline__ unsigned short tw_lo16(unsigned pair) { return (unsigned short)(pair & 0xffffu); }
)"},
      {"tw_hi16",
       {},
       R"(__device__ __forceinline__ unsigned short tw_hi16(unsigned pair) { return (unsigned short)(pair >> 16); }
)"},
      {"tw_get16", {"tw_lo16", "tw_hi16"}, R"(// Element i of an array of pairs.
__device__ __forceinline__ unsigned short tw_get16(const unsigned* pairs, int i) {
  return i & 1 ? tw_hi16(pairs[i >> 1]) : tw_lo16(pairs[i >> 1]);
}
)"},
      {"tw_set16", {}, R"(__device__ __forceinline__ void tw_set16(unsigned* pairs, int i, unsigned short x) {
  pairs[i >> 1] = i & 1 ? (pairs[i >> 1] & 0xffffu) | ((unsigned)x << 16) : (pairs[i >> 1] & 0xffff0000u) | x;
}
)"},
      {"tw_pack",
       {},
       R"(__device__ __forceinline__ unsigned tw_pack(unsigned short lo, unsigned short hi) { return (unsigned)hi << 16 | lo; }
)"},
      {"tw_from_bf16",
       {},
       R"(__device__ __forceinline__ float tw_from_bf16(unsigned short x) { return __uint_as_float((unsigned)x << 16); }
)"},
      {"tw_to_bf16", {}, R"(__device__ __forceinline__ unsigned short tw_to_bf16(float x) {
  unsigned short r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
)"},
      {"tw_pack_bf16", {}, R"(__device__ __forceinline__ unsigned tw_pack_bf16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
)"},
      {"tw_from_f16", {}, R"(__device__ __forceinline__ float tw_from_f16(unsigned short x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
  return r;
}
)"},
      {"tw_to_f16", {}, R"(__device__ __forceinline__ unsigned short tw_to_f16(float x) {
  unsigned short r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
)"},
      {"tw_pack_f16", {}, R"(__device__ __forceinline__ unsigned tw_pack_f16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
)"},
      {"tw_to_tf32", {}, R"(// To nearest even; the 13 low bits become zero.
__device__ __forceinline__ float tw_to_tf32(float x) {
  unsigned u = __float_as_uint(x);
  unsigned rounded = (u + 0xfffu + (u >> 13 & 1u)) & 0xffffe000u;
  return (u & 0x7f800000u) == 0x7f800000u ? ((u & 0x7fffffu) != 0u ? __uint_as_float(u | 0x400000u) : x)
                                          : __uint_as_float(rounded);
}
)"},
      {"tw_to_int", {}, R"(// To nearest even, saturating.
__device__ __forceinline__ int tw_to_int(float x, float lo, float hi) {
  int r;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r) : "f"(x < lo ? lo : (x > hi ? hi : x)));
  return r;
}
)"},
      {"tw_sigmoid", {}, R"(__device__ __forceinline__ float tw_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
)"},
      {"tw_sigmoid_fast",
       {},
       R"(__device__ __forceinline__ float tw_sigmoid_fast(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
)"},
      {"tw_tanh_fast", {}, R"(__device__ __forceinline__ float tw_tanh_fast(float x) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)"},
      {"tw_exp2_fast", {}, R"(__device__ __forceinline__ float tw_exp2_fast(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)"},
      {"tw_cp_async4", {}, R"(// Copies `bytes` (4 or 0) bytes and fills the rest of 4 with zeros.
__device__ __forceinline__ void tw_cp_async4(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
)"},
      {"tw_cp_async8", {}, R"(// Copies `bytes` (8 or 0) bytes and fills the rest of 8 with zeros.
__device__ __forceinline__ void tw_cp_async8(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
)"},
      {"tw_cp_async16", {}, R"(// Copies `bytes` (16 or 0) bytes and fills the rest of 16 with zeros.
__device__ __forceinline__ void tw_cp_async16(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
)"},
      {"tw_cp_async_commit",
       {},
       R"(__device__ __forceinline__ void tw_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
)"},
      {"tw_cp_async_wait", {}, R"(// Until at most N groups of this thread are under way.
template <int N>
__device__ __forceinline__ void tw_cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
)"},
      {"tw_ldmatrix_x1", {}, R"(__device__ __forceinline__ void tw_ldmatrix_x1(unsigned* r, unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row) : "memory");
}
)"},
      {"tw_ldmatrix_x2", {}, R"(__device__ __forceinline__ void tw_ldmatrix_x2(unsigned* r, unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(row) : "memory");
}
)"},
      {"tw_ldmatrix_x4", {}, R"(__device__ __forceinline__ void tw_ldmatrix_x4(unsigned* r, unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
)"},
      {"tw_ldmatrix_x1_trans", {}, R"(__device__ __forceinline__ void tw_ldmatrix_x1_trans(unsigned* r, unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row) : "memory");
}
)"},
      {"tw_ldmatrix_x2_trans", {}, R"(__device__ __forceinline__ void tw_ldmatrix_x2_trans(unsigned* r, unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(row)
               : "memory");
}
)"},
      {"tw_ldmatrix_x4_trans", {}, R"(__device__ __forceinline__ void tw_ldmatrix_x4_trans(unsigned* r, unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
)"},
  };
  return all;
}

}  // namespace

void require_helper(std::string_view name, std::set<std::string>& used) {
  for (const Helper& helper : helpers()) {
    if (helper.name == name) {
      used.insert(std::string(name));
      for (std::string_view need : helper.needs) {
        require_helper(need, used);
      }
      return;
    }
  }
  check_failed(__FILE__, __LINE__, "helper exists", name);
}

std::string helper_text(const std::set<std::string>& used) {
  std::string out;
  for (const Helper& helper : helpers()) {
    if (used.contains(std::string(helper.name))) {
      out += helper.text;
    }
  }
  return out;
}

}  // namespace tw::targets::cuda
