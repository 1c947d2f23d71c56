# D4: the base pointer is aligned, the rows are not: K is any multiple of 4.
# expect: rejected TW4012
from tilewright import *


@kernel(target="sm_80", threads=128)
def through(X: In[bf16, (M, K)], Y: Out[bf16, (M, K)]):
    assume(K % 4 == 0)
    s = shared(bf16, (32, 64), pad=8)
    for bm, bk in tiles(cdiv(M, 32), cdiv(K, 64)):
        copy(X[bm*32:+32, bk*64:+64], s, via=vector(16))
        y = load(s, via=vector(16))
        check(y, lambda i, j: dict(M=bm*32 + i, K=bk*64 + j))
        store(y, Y[bm*32:+32, bk*64:+64], via=vector(16))
