# D4: rows of 8x8 matrices do not start on 16-byte boundaries.
# expect: rejected TW4012
from tilewright import *


@kernel(target="sm_80", threads=128)
def gemm(A: In[bf16, (M, K)], B: In[bf16, (K, N)], D: Out[bf16, (M, N)]):
    sB = shared(bf16, (32, 32), pad=4)
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        acc = zeros(f32, (32, 32))
        for k in range(cdiv(K, 32)):
            a = load(A[bm*32:+32, k*32:+32])
            copy(B[k*32:+32, bn*32:+32], sB)
            acc = mma(a, load(sB.T, via=ldmatrix), acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*32 + i, N=bn*32 + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*32:+32, bn*32:+32])
