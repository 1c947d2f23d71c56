# A sum is added in each of three iterations.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64)):
        acc = zeros(f32, (64, 64))
        for q in range(3):
            c = zeros(f32, (64, 64))
            for k in range(cdiv(K, 32)):
                a = load(A[bm*64:+64, k*32:+32])
                b = load(B[bn*64:+64, k*32:+32])
                c = mma(a, b, c, via=mma_m16n8k16)
            acc = acc + exp(c)
        check(acc, lambda i, j: dict(M=bm*64 + i, N=bn*64 + j), over=dict(K=range(K)))
        store(acc, D[bm*64:+64, bn*64:+64])
