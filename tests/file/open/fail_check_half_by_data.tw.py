# Data decides which half is summed: neither covers the range.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (R, N)], Z: In[f32, (R,)], Y: Out[f32, (R,)]):
    assume(N >= 256, N <= 512)
    for r in tiles(cdiv(R, 8)):
        a = reduce(load(X[r*8:+8, 0:+256]), axis=1, op=add)
        b = reduce(load(X[r*8:+8, 256:+256]), axis=1, op=add)
        t = where(load(Z[r*8:+8]) > 0.0, a, b)
        check(t, lambda i: dict(R=r*8 + i), over=dict(N=range(N)))
        store(t, Y[r*8:+8])
