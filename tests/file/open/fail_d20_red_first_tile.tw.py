# D20: the first columns are never added.
# expect: unknown coverage
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(X: In[f32, (M, N)], S: Acc[f32, (M,), add]):
    assume(N >= 1)
    for r, c in tiles(cdiv(M, 8), cdiv(N, 16)):
        t = reduce(load(X[r*8:+8, c*16:+16]), axis=1, op=add)
        check(t, lambda i: dict(M=r*8 + i))
        if c > 0:
            red(t, S[r*8:+8], op=add)
