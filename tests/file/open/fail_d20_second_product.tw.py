# D20: of two products one drops the tail of K; the check that states the range of K is about the other.
# expect: unknown coverage
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)], E: Out[f32, (M, N)]):
    assume(K >= 1)
    for bm, bn in tiles(cdiv(M, 16), cdiv(N, 16)):
        acc = zeros(f32, (16, 16))
        cut = zeros(f32, (16, 16))
        for k in range(cdiv(K, 8)):
            acc = mma(load(A[bm*16:+16, k*8:+8]), load(B[bn*16:+16, k*8:+8]), acc, via=fma)
        for k in range(K // 8):
            cut = mma(load(A[bm*16:+16, k*8:+8]), load(B[bn*16:+16, k*8:+8]), cut, via=fma)
        check(acc, lambda i, j: dict(M=bm*16 + i, N=bn*16 + j), over=dict(K=range(K)))
        check(cut, lambda i, j: dict(M=bm*16 + i, N=bn*16 + j))
        store(acc, D[bm*16:+16, bn*16:+16])
        store(cut, E[bm*16:+16, bn*16:+16])
