# D20: a check states what the first slice covers; the sum that is written begins after it and drops the tail.
# expect: refuted coverage
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    assume(K >= 8)
    for bm, bn in tiles(cdiv(M, 16), cdiv(N, 16)):
        first = mma(load(A[bm*16:+16, 0:+8]), load(B[bn*16:+16, 0:+8]), via=fma)
        check(first, lambda i, j: dict(M=bm*16 + i, N=bn*16 + j), over=dict(K=range(8)))
        acc = zeros(f32, (16, 16))
        for k in range(1, K // 8):
            acc = mma(load(A[bm*16:+16, k*8:+8]), load(B[bn*16:+16, k*8:+8]), acc, via=fma)
        check(acc, lambda i, j: dict(M=bm*16 + i, N=bn*16 + j))
        store(acc, D[bm*16:+16, bn*16:+16])
