# D20: the number of block rows is rounded down.
# expect: refuted coverage
from tilewright import *


@kernel(target="sm_80", threads=128)
def scale(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    for bm, bn in tiles(M // 16, cdiv(N, 64)):
        x = load(X[bm*16:+16, bn*64:+64])
        check(x, lambda i, j: dict(M=bm*16 + i, N=bn*64 + j))
        store(x * 2.0, Y[bm*16:+16, bn*64:+64])
