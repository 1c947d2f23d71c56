# Matrix product, case tn: A is K x M, B is K x N. Every size: plain copies, nothing needs alignment.
from tilewright import *


@kernel(target="sm_80", threads=128, configs=(dict(BM=64, BN=64, BK=32),))
def gemm_mma_tn(A: In[bf16, (K, M)], B: In[bf16, (K, N)], D: Out[bf16, (M, N)],
                BM: const = 64, BN: const = 64, BK: const = 32):
    sA = shared(bf16, (BK, BM), pad=8)
    sB = shared(bf16, (BK, BN), pad=8)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        acc = zeros(f32, (BM, BN))
        for k in range(cdiv(K, BK)):
            copy(A[k*BK:+BK, bm*BM:+BM], sA)
            copy(B[k*BK:+BK, bn*BN:+BN], sB)
            acc = mma(sA.T, sB.T, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*BM:+BM, bn*BN:+BN])
