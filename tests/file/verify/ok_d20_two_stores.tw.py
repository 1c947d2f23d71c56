# D20: two statements write the two halves of a tile.
# expect: proved full
from tilewright import *


@kernel(target="sm_80", threads=128)
def scale(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    for bm, bn in tiles(cdiv(M, 16), cdiv(N, 128)):
        x = load(X[bm*16:+16, bn*128:+64])
        z = load(X[bm*16:+16, bn*128 + 64:+64])
        check(x, lambda i, j: dict(M=bm*16 + i, N=bn*128 + j))
        check(z, lambda i, j: dict(M=bm*16 + i, N=bn*128 + 64 + j))
        store(x * 2.0, Y[bm*16:+16, bn*128:+64])
        store(z * 2.0, Y[bm*16:+16, bn*128 + 64:+64])
