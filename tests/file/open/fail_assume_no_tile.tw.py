# The assumptions leave no size but 0: there is no tile, and the widths of what the tiles compute are chosen all the same.
# expect: vacuous check
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    assume(N <= 16, N % 32 == 0)
    for r, c in tiles(cdiv(M, 4), N // 32):
        x = load(X[r*4:+4, c*32:+32])
        check(x, lambda i, j: dict(M=r*4 + i, N=c*32 + j))
        store(x * 2.0, Y[r*4:+4, c*32:+32])
