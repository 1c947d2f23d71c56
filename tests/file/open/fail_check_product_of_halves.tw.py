# The product of two half sums is no sum over the range.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(X: In[f32, (M, N)], S: Out[f32, (M,)]):
    assume(N >= 33, N <= 64)
    for r in tiles(cdiv(M, 8)):
        t = reduce(load(X[r*8:+8, 0:+32]), axis=1, op=add) * reduce(load(X[r*8:+8, 32:+32]), axis=1, op=add)
        check(t, lambda i: dict(M=r*8 + i), over=dict(N=range(N)))
        store(t, S[r*8:+8])
