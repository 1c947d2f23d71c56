# Each row is added once for every chunk.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (R, N)], Y: Out[f32, (R,)]):
    assume(N >= 1, N <= 512)
    for r in tiles(cdiv(R, 8)):
        t = zeros(f32, (8,))
        for k in range(cdiv(N, 256)):
            s = reduce(load(X[r*8:+8, 0:+512]), axis=1, op=add)
            t = t + s * 0.5
        check(t, lambda i: dict(R=r*8 + i), over=dict(N=range(N)))
        store(t, Y[r*8:+8])
