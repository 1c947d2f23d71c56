# Ampere matrix product with everything written out: cp.async groups, S stages, fragments double buffered in registers, explicit
# synchronization, the result staged through shared memory that the operands no longer need.
from tilewright import *


@kernel(target="sm_80", threads=256, sync="manual", min_blocks=1, no_spills=True,
        configs=(dict(BM=128, BN=256, BK=64, S=3, SW=128), dict(BM=128, BN=128, BK=32, S=4, SW=64),
                 dict(BM=128, BN=128, BK=64, S=3, SW=128)))
def gemm_ampere(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)],
                BM: const = 128, BN: const = 256, BK: const = 64, S: const = 3, SW: const = 128, KI: const = 16):
    assume(K % 8 == 0, N % 8 == 0, K >= 1)
    sA = shared(bf16, (BM, BK), ring=S, swizzle=SW)
    sB = shared(bf16, (BN, BK), ring=S, swizzle=SW)
    # Storage only: no value passes through an alias.
    sD = shared(bf16, (BM, BN), pad=8, alias=(sA, sB))
    nk = cdiv(K, BK)
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN), order=grouped(8)):
        # Always S-1 groups, empty ones included.
        for k in range(S - 1):
            with group():
                if k < nk:
                    copy(A[bm*BM:+BM, k*BK:+BK], sA[k], via=cp_async)
                    copy(B[bn*BN:+BN, k*BK:+BK], sB[k], via=cp_async)
        acc = zeros(f32, (BM, BN))
        for k in range(nk):
            # My own copies of version k have landed; after the barrier everybody's have, and nobody reads version k-1 any more.
            drain(cp_async, pending=S - 2)
            sync()
            with group():
                if k + S - 1 < nk:
                    copy(A[bm*BM:+BM, (k + S - 1)*BK:+BK], sA[k + S - 1], via=cp_async)
                    copy(B[bn*BN:+BN, (k + S - 1)*BK:+BK], sB[k + S - 1], via=cp_async)
            a = load(sA[k, :, 0:+KI], via=ldmatrix)
            b = load(sB[k, :, 0:+KI], via=ldmatrix)
            for i in unroll(range(BK // KI)):
                a2, b2 = a, b
                if i + 1 < BK // KI:
                    a2 = load(sA[k, :, (i + 1)*KI:+KI], via=ldmatrix)
                    b2 = load(sB[k, :, (i + 1)*KI:+KI], via=ldmatrix)
                acc = mma(a, b, acc, via=mma_m16n8k16, warps=(2, 4))
                a, b = a2, b2
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        drain(cp_async)
        # sD lies over live stages.
        sync()
        store(acc.to(bf16), sD)
        sync()
        store(load(sD, via=vector(16)), D[bm*BM:+BM, bn*BN:+BN], via=vector(16))
