# Matrix product, case tt: A is K x M, B is N x K.
# cp.async pipelines; `.T` makes ldmatrix transpose on the way to the registers.
from tilewright import *


@kernel(target="sm_80", threads=128, no_spills=True, configs=(dict(BM=128, BN=128, BK=32, S=3), dict(BM=64, BN=64, BK=32, S=3)))
def gemm_pipelined_tt(A: In[bf16, (K, M)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)],
                      BM: const = 128, BN: const = 128, BK: const = 32, S: const = 3):
    assume(M % 8 == 0, K % 8 == 0)
    sA = shared(bf16, (BK, BM), pad=8)
    sB = shared(bf16, (BN, BK), swizzle=64)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in pipeline(range(cdiv(K, BK)), stages=S):
            copy(A[k*BK:+BK, bm*BM:+BM], sA, via=cp_async)
            copy(B[bn*BN:+BN, k*BK:+BK], sB, via=cp_async)
            acc = mma(sA.T, sB, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*BM:+BM, bn*BN:+BN])
