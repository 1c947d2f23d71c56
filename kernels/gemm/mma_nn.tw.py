# Matrix product, case nn: A is M x K, B is K x N. Every size: plain copies, nothing needs alignment.
from tilewright import *


@kernel(target="sm_80", threads=128, configs=(dict(BM=64, BN=64, BK=32),))
def gemm_mma_nn(A: In[bf16, (M, K)], B: In[bf16, (K, N)], D: Out[bf16, (M, N)],
                BM: const = 64, BN: const = 64, BK: const = 32):
    sA = shared(bf16, (BM, BK), swizzle=64)
    sB = shared(bf16, (BK, BN), pad=8)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in range(cdiv(K, BK)):
            copy(A[bm*BM:+BM, k*BK:+BK], sA)
            copy(B[k*BK:+BK, bn*BN:+BN], sB)
            acc = mma(sA, sB.T, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*BM:+BM, bn*BN:+BN])
