# Matrix product with bias and GELU in the epilogue, on the accumulators in registers.
from tilewright import *


@kernel(target="sm_80", threads=128, configs=(dict(BM=128, BN=64, BK=32, S=3), dict(BM=64, BN=64, BK=32, S=3)))
def gemm_bias_gelu(A: In[bf16, (M, K)], B: In[bf16, (N, K)], bias: In[f32, (N,)], D: Out[bf16, (M, N)],
                   BM: const = 128, BN: const = 64, BK: const = 32, S: const = 3):
    assume(K % 8 == 0, N % 8 == 0)
    sA = shared(bf16, (BM, BK), swizzle=64)
    sB = shared(bf16, (BN, BK), swizzle=64)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in pipeline(range(cdiv(K, BK)), stages=S):
            copy(A[bm*BM:+BM, k*BK:+BK], sA, via=cp_async)
            copy(B[bn*BN:+BN, k*BK:+BK], sB, via=cp_async)
            acc = mma(sA, sB, acc, via=mma_m16n8k16)
        y = acc + load(bias[bn*BN:+BN])[None, :]
        y = 0.5 * y * (1.0 + erf(y * 0.7071067811865476))
        check(y, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(y.to(bf16), D[bm*BM:+BM, bn*BN:+BN])
