# tf32 matrix product for every size: plain copies, nothing needs alignment.
from tilewright import *


@kernel(target="sm_80", threads=128, configs=(dict(BM=64, BN=64, BK=16),))
def gemm_tf32_mma(A: In[tf32, (M, K)], B: In[tf32, (N, K)], D: Out[f32, (M, N)],
                  BM: const = 64, BN: const = 64, BK: const = 16):
    sA = shared(tf32, (BM, BK), pad=4)
    sB = shared(tf32, (BN, BK), pad=4)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in range(cdiv(K, BK)):
            copy(A[bm*BM:+BM, k*BK:+BK], sA)
            copy(B[bn*BN:+BN, k*BK:+BK], sB)
            acc = mma(sA, sB, acc, via=mma_m16n8k8)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc, D[bm*BM:+BM, bn*BN:+BN])
