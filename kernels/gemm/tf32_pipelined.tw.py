# tf32 matrix product (operands are f32 whose 13 low bits are zero) with cp.async pipelines.
from tilewright import *


@kernel(target="sm_80", threads=128, no_spills=True,
        configs=(dict(BM=128, BN=64, BK=32, S=3), dict(BM=64, BN=64, BK=32, S=3)))
def gemm_tf32_pipelined(A: In[tf32, (M, K)], B: In[tf32, (N, K)], D: Out[f32, (M, N)],
                        BM: const = 128, BN: const = 64, BK: const = 32, S: const = 3):
    assume(K % 4 == 0)
    sA = shared(tf32, (BM, BK), swizzle=128)
    sB = shared(tf32, (BN, BK), swizzle=128)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in pipeline(range(cdiv(K, BK)), stages=S):
            copy(A[bm*BM:+BM, k*BK:+BK], sA, via=cp_async)
            copy(B[bn*BN:+BN, k*BK:+BK], sB, via=cp_async)
            acc = mma(sA, sB, acc, via=mma_m16n8k8)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc, D[bm*BM:+BM, bn*BN:+BN])
