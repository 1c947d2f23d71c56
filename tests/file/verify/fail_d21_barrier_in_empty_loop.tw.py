# D21: the only barrier stands in a loop that the first blocks do not enter.
# expect: refuted race
from tilewright import *


@kernel(target="sm_80", threads=64, sync="manual")
def f(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    s = shared(f32, (16, 16))
    for i, j in tiles(cdiv(M, 16), cdiv(N, 16)):
        copy(X[i*16:+16, j*16:+16], s)
        for k in range(j):
            sync()
        x = load(s.T)
        check(x, lambda b, a: dict(M=i*16 + a, N=j*16 + b))
        store(x, Y.T[j*16:+16, i*16:+16])
