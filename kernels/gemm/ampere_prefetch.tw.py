# Ampere matrix product that loads the first fragments of the next version while the last product of this one runs; the
# barrier that makes the next version visible stands before that product.
from tilewright import *


@kernel(target="sm_80", threads=256, sync="manual", no_spills=True,
        configs=(dict(BM=128, BN=256, BK=64, S=3, SW=128), dict(BM=128, BN=256, BK=32, S=4, SW=64),
                 dict(BM=128, BN=128, BK=32, S=4, SW=64)))
def gemm_ampere_prefetch(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)],
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
        # My own copies of version 0 have landed; after the barrier everybody's have.
        drain(cp_async, pending=S - 2)
        sync()
        a = load(sA[0, :, 0:+KI], via=ldmatrix)
        b = load(sB[0, :, 0:+KI], via=ldmatrix)
        for k in range(nk - 1):
            # The last barrier ended the reads of version k-1, whose slot version k+S-1 takes.
            with group():
                if k + S - 1 < nk:
                    copy(A[bm*BM:+BM, (k + S - 1)*BK:+BK], sA[k + S - 1], via=cp_async)
                    copy(B[bn*BN:+BN, (k + S - 1)*BK:+BK], sB[k + S - 1], via=cp_async)
            for i in unroll(range(BK // KI)):
                if i + 1 < BK // KI:
                    a2 = load(sA[k, :, (i + 1)*KI:+KI], via=ldmatrix)
                    b2 = load(sB[k, :, (i + 1)*KI:+KI], via=ldmatrix)
                else:
                    # The first fragments of the next version, while this one's last product runs.
                    drain(cp_async, pending=S - 2)
                    sync()
                    a2 = load(sA[k + 1, :, 0:+KI], via=ldmatrix)
                    b2 = load(sB[k + 1, :, 0:+KI], via=ldmatrix)
                acc = mma(a, b, acc, via=mma_m16n8k16)
                a, b = a2, b2
        # The last version.
        for i in unroll(range(BK // KI)):
            a2, b2 = a, b
            if i + 1 < BK // KI:
                a2 = load(sA[nk - 1, :, (i + 1)*KI:+KI], via=ldmatrix)
                b2 = load(sB[nk - 1, :, (i + 1)*KI:+KI], via=ldmatrix)
            acc = mma(a, b, acc, via=mma_m16n8k16)
            a, b = a2, b2
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        drain(cp_async)
        # sD lies over live stages.
        sync()
        store(acc.to(bf16), sD)
        sync()
        store(load(sD, via=vector(16)), D[bm*BM:+BM, bn*BN:+BN], via=vector(16))
