# D18: a chunk that lies wholly outside goes through exp before it is summed.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (R, N)], Y: Out[f32, (R,)]):
    assume(N >= 1, N <= 128)
    for r in tiles(cdiv(R, 8)):
        x = load(X[r*8:+8, 0:+128])
        y = load(X[r*8:+8, 128:+128])
        t = reduce(x, axis=1, op=add) + reduce(exp(y), axis=1, op=add)
        check(t, lambda i: dict(R=r*8 + i), over=dict(N=range(N)))
        store(t, Y[r*8:+8])
