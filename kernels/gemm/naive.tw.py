# Matrix product with scalar multiply-adds, operands straight from global memory: valid for every size, the place to start.
from tilewright import *


@kernel(target="sm_80", threads=256, configs=(dict(BM=64, BN=64, BK=16), dict(BM=32, BN=32, BK=8)))
def gemm_naive(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)],
               BM: const = 64, BN: const = 64, BK: const = 16):
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN)):
        acc = zeros(f32, (BM, BN))
        for k in range(cdiv(K, BK)):
            a = load(A[bm*BM:+BM, k*BK:+BK])
            b = load(B[bn*BN:+BN, k*BK:+BK])
            acc = mma(a, b, acc, via=fma)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*BM:+BM, bn*BN:+BN])
