# The sum of index and offset in a mask overflows in the last chunk at the largest sizes.
# expect: unknown bounds
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (R, N)], Y: Out[f32, (R,)]):
    assume(N >= 1, R <= 4)
    for r in tiles(cdiv(R, 1)):
        t = zeros(f32, (1,))
        for k in range(cdiv(N, 384)):
            d = where(iota((1, 384), axis=1) + k*384 < N, load(X[r*1:+1, k*384:+384]) - 1.0, 0.0)
            t = t + reduce(d * d, axis=1, op=add)
        check(t, lambda i: dict(R=r*1 + i), over=dict(N=range(N)))
        store(t, Y[r*1:+1])
