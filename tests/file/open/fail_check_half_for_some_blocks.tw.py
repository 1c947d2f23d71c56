# Half of K is added by some blocks only.
# expect: unknown check
from tilewright import *


@kernel(target='sm_80', threads=64)
def f(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    assume(K != 1)
    nk = cdiv(K, 8)
    h = nk // 2
    for bm, bn in tiles(cdiv(M, 16), cdiv(N, 16)):
        acc = zeros(f32, (16, 16))
        if bn > 0:
            for k in range(h):
                a = load(A[bm * 16:+16, k * 8:+8])
                b = load(B[bn * 16:+16, k * 8:+8])
                acc = mma(a, b, acc, via=fma)
        for k in range(h, nk):
            a = load(A[bm * 16:+16, k * 8:+8])
            b = load(B[bn * 16:+16, k * 8:+8])
            acc = mma(a, b, acc, via=fma)
        check(acc, lambda i, j: dict(M=bm * 16 + i, N=bn * 16 + j), over=dict(K=range(K)))
        store(acc, D[bm * 16:+16, bn * 16:+16])
