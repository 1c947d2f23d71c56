# D4: pairs of rows interleave, but the columns of a row come every 3 elements: (0, 2) and (1, 1) meet at byte 12.
# expect: refuted layout
from tilewright import *


@kernel(target="sm_80", threads=128)
def through(X: In[f32, (M, K)], Y: Out[f32, (M, K)]):
    s = shared(f32, (16, 32), layout="((2,8),(2,16)):((1,64),(2,3))")
    for bm, bk in tiles(cdiv(M, 16), cdiv(K, 32)):
        copy(X[bm*16:+16, bk*32:+32], s)
        y = load(s)
        check(y, lambda i, j: dict(M=bm*16 + i, K=bk*32 + j))
        store(y, Y[bm*16:+16, bk*32:+32])
