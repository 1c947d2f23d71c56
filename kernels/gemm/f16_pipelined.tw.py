# f16 matrix product on tensor cores with cp.async pipelines written as a policy. Rows of A and B must start at multiples of
# 16 bytes; M, N and K are ragged otherwise.
from tilewright import *


@kernel(target="sm_80", threads=128, no_spills=True,
        configs=(dict(BM=128, BN=128, BK=64, S=3, SW=128), dict(BM=128, BN=128, BK=32, S=4, SW=64),
                 dict(BM=64, BN=64, BK=64, S=3, SW=128), dict(BM=128, BN=64, BK=32, S=3, SW=64)))
def gemm_f16_pipelined(A: In[f16, (M, K)], B: In[f16, (N, K)], D: Out[f16, (M, N)],
                   BM: const = 128, BN: const = 128, BK: const = 64, S: const = 3, SW: const = 128):
    assume(K % 8 == 0, N % 8 == 0)
    sA = shared(f16, (BM, BK), swizzle=SW)
    sB = shared(f16, (BN, BK), swizzle=SW)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in pipeline(range(cdiv(K, BK)), stages=S):
            copy(A[bm*BM:+BM, k*BK:+BK], sA, via=cp_async)
            copy(B[bn*BN:+BN, k*BK:+BK], sB, via=cp_async)
            acc = mma(sA, sB, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc.to(f16), D[bm*BM:+BM, bn*BN:+BN])
