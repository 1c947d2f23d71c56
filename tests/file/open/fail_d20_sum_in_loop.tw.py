# D20: the last chunk of K is never multiplied, in a loop without a closed form.
# expect: unknown coverage
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64)):
        acc = zeros(f32, (64, 64))
        for k in range(cdiv(K, 32) - 1):
            a = load(A[bm*64:+64, k*32:+32])
            b = load(B[bn*64:+64, k*32:+32])
            acc = exp(acc) + mma(a, b, via=mma_m16n8k16)
        store(acc, D[bm*64:+64, bn*64:+64])
