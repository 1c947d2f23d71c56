# D1: A comes from the version of this step, B from that of the step before.
# expect: refuted contraction
from tilewright import *


@kernel(target="sm_80", threads=128, sync="manual")
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)]):
    assume(K % 8 == 0)
    sA = shared(bf16, (64, 32), ring=3, swizzle=64)
    sB = shared(bf16, (64, 32), ring=3, swizzle=64)
    nk = cdiv(K, 32)
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64)):
        for k in range(2):
            with group():
                if k < nk:
                    copy(A[bm*64:+64, k*32:+32], sA[k], via=cp_async)
                    copy(B[bn*64:+64, k*32:+32], sB[k], via=cp_async)
        acc = zeros(f32, (64, 64))
        for k in range(1, nk):
            drain(cp_async)
            sync()
            with group():
                if k + 1 < nk:
                    copy(A[bm*64:+64, (k + 1)*32:+32], sA[k + 1], via=cp_async)
                    copy(B[bn*64:+64, (k + 1)*32:+32], sB[k + 1], via=cp_async)
            a = load(sA[k], via=ldmatrix)
            b = load(sB[k - 1], via=ldmatrix)
            acc = mma(a, b, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*64 + i, N=bn*64 + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*64:+64, bn*64:+64])
