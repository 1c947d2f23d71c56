# D1: the rows of an operand move with k, so that accumulator elements mix rows.
# expect: refuted contraction
from tilewright import *


@kernel(target="sm_80", threads=128)
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)]):
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        acc = zeros(f32, (32, 32))
        for k in range(cdiv(K, 16)):
            a = load(A[bm*32 + k:+32, k*16:+16])
            b = load(B[bn*32:+32, k*16:+16])
            acc = mma(a, b, acc, via=fma)
        check(acc, lambda i, j: dict(M=bm*32 + i, N=bn*32 + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*32:+32, bn*32:+32])
