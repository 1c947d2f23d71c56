# D2: blocks of the result go where those of the transposed matrix belong.
# expect: refuted coverage
from tilewright import *


@kernel(target="sm_80", threads=128)
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)]):
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        acc = zeros(f32, (32, 32))
        for k in range(cdiv(K, 16)):
            a = load(A[bm*32:+32, k*16:+16])
            b = load(B[bn*32:+32, k*16:+16])
            acc = mma(a, b, acc, via=fma)
        check(acc, lambda i, j: dict(M=bm*32 + i, N=bn*32 + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bn*32:+32, bm*32:+32])
