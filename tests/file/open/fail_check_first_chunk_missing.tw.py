# The first chunk is added for some rows only.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(X: In[f32, (M, N)], S: Out[f32, (M,)]):
    assume(N >= 32)
    for r in tiles(cdiv(M, 8)):
        t = zeros(f32, (8,))
        if r > 0:
            t = reduce(load(X[r*8:+8, 0:+16]), axis=1, op=add)
        for c in range(1, cdiv(N, 16)):
            t = t + reduce(load(X[r*8:+8, c*16:+16]), axis=1, op=add)
        check(t, lambda i: dict(M=r*8 + i), over=dict(N=range(N)))
        store(t, S[r*8:+8])
