# D4: an alias larger than the storage that it shares.
# expect: rejected TW4031
from tilewright import *


@kernel(target="sm_80", threads=128)
def through(X: In[f32, (M, K)], Y: Out[f32, (M, K)]):
    a = shared(f32, (8, 8))
    s = shared(f32, (16, 32), alias=a)
    c = shared(f32, (16, 32))
    for bm, bk in tiles(cdiv(M, 16), cdiv(K, 32)):
        copy(X[bm*16:+16, bk*32:+32], c)
        copy(X[bm*16:+16, bk*32:+32], s)
        y = load(s) + load(c)
        check(y, lambda i, j: dict(M=bm*16 + i, K=bk*32 + j))
        store(y, Y[bm*16:+16, bk*32:+32])
