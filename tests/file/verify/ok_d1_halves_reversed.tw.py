# D1: both operands take their halves in the reverse order.
# expect: proved full
from tilewright import *


@kernel(target="sm_80", threads=128)
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)]):
    sA = shared(bf16, (64, 32), swizzle=64)
    sB = shared(bf16, (64, 32), swizzle=64)
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64)):
        acc = zeros(f32, (64, 64))
        for k in range(cdiv(K, 32)):
            copy(A[bm*64:+64, k*32:+32], sA)
            copy(B[bn*64:+64, k*32:+32], sB)
            for i in unroll(range(2)):
                a = load(sA[:, 16 - i*16:+16], via=ldmatrix)
                b = load(sB[:, 16 - i*16:+16], via=ldmatrix)
                acc = mma(a, b, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*64 + i, N=bn*64 + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*64:+64, bn*64:+64])
