# D18: the mask compares columns with the number of rows.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def variance(X: In[f32, (R, N)], V: Out[f32, (R,)]):
    assume(N >= 1, N <= 128)
    for r in tiles(cdiv(R, 8)):
        x = load(X[r*8:+8, 0:+128])
        mean = reduce(x, axis=1, op=add) / N.to(f32)
        d = where(iota((8, 128), axis=1) < R, x - mean[:, None], 0.0)
        v = reduce(d * d, axis=1, op=add) / N.to(f32)
        check(v, lambda i: dict(R=r*8 + i), over=dict(N=range(N)))
        store(v, V[r*8:+8])
