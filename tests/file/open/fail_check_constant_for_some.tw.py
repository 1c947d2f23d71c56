# Some rows are zeros instead of elements.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    for r, c in tiles(cdiv(M, 8), cdiv(N, 16)):
        x = zeros(f32, (8, 16))
        if r > 0:
            x = load(X[r*8:+8, c*16:+16])
        check(x, lambda i, j: dict(M=r*8 + i, N=c*16 + j))
        store(x, Y[r*8:+8, c*16:+16])
