# The mask compares columns with the number of rows, so that elements are zeroed.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    for r, c in tiles(cdiv(M, 8), cdiv(N, 16)):
        x = load(X[r*8:+8, c*16:+16])
        x = where(iota((8, 16), axis=1) + c*16 < M, x, 0.0)
        check(x, lambda i, j: dict(M=r*8 + i, N=c*16 + j))
        store(x, Y[r*8:+8, c*16:+16])
