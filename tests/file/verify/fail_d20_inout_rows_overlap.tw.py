# D20: row tiles of an InOut tensor overlap.
# expect: refuted coverage
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (M, N)], Z: InOut[f32, (M, N)]):
    for i, j in tiles(cdiv(M, 32), cdiv(N, 32)):
        b = load(X[i*32:+64, j*32:+32])
        check(b, lambda r, c: dict(M=i*32 + r, N=j*32 + c))
        store(b * (1.0 * 1), Z[i*32:+64, j*32:+32])
