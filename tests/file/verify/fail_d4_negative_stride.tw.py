# D4: rows go backwards from the first byte of the tile, out of its storage.
# expect: refuted layout
from tilewright import *


@kernel(target="sm_80", threads=128)
def through(X: In[f32, (M, K)], Y: Out[f32, (M, K)]):
    s = shared(f32, (16, 32), layout="(16,32):(-32,1)")
    for bm, bk in tiles(cdiv(M, 16), cdiv(K, 32)):
        copy(X[bm*16:+16, bk*32:+32], s)
        y = load(s)
        check(y, lambda i, j: dict(M=bm*16 + i, K=bk*32 + j))
        store(y, Y[bm*16:+16, bk*32:+32])
