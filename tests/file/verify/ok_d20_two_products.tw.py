# D20: two products of different shape over one K, both in full; one check states the range.
# expect: proved full
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)], E: Out[f32, (M, N)]):
    assume(K >= 1)
    for bm, bn in tiles(cdiv(M, 16), cdiv(N, 16)):
        acc = zeros(f32, (16, 16))
        fine = zeros(f32, (16, 16))
        for k in range(cdiv(K, 16)):
            acc = mma(load(A[bm*16:+16, k*16:+16]), load(B[bn*16:+16, k*16:+16]), acc, via=fma)
        for k in range(cdiv(K, 8)):
            fine = mma(load(A[bm*16:+16, k*8:+8]), load(B[bn*16:+16, k*8:+8]), fine, via=fma)
        check(acc, lambda i, j: dict(M=bm*16 + i, N=bn*16 + j), over=dict(K=range(K)))
        check(fine, lambda i, j: dict(M=bm*16 + i, N=bn*16 + j))
        store(acc, D[bm*16:+16, bn*16:+16])
        store(fine, E[bm*16:+16, bn*16:+16])
