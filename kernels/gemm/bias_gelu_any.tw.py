# Matrix product with bias and GELU for every size.
from tilewright import *


@kernel(target="sm_80", threads=128, configs=(dict(BM=64, BN=64, BK=32),))
def gemm_bias_gelu_any(A: In[bf16, (M, K)], B: In[bf16, (N, K)], bias: In[f32, (N,)], D: Out[bf16, (M, N)],
                       BM: const = 64, BN: const = 64, BK: const = 32):
    sA = shared(bf16, (BM, BK), swizzle=64)
    sB = shared(bf16, (BN, BK), swizzle=64)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in range(cdiv(K, BK)):
            copy(A[bm*BM:+BM, k*BK:+BK], sA)
            copy(B[bn*BN:+BN, k*BK:+BK], sB)
            acc = mma(sA, sB, acc, via=mma_m16n8k16)
        y = acc + load(bias[bn*BN:+BN])[None, :]
        y = 0.5 * y * (1.0 + erf(y * 0.7071067811865476))
        check(y, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(y.to(bf16), D[bm*BM:+BM, bn*BN:+BN])
