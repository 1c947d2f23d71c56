# An i32 tile of indices times a large number overflows.
# expect: refuted bounds
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 128)):
        z = iota((128,)) * 100000000
        d = where(z >= 0, load(X[i*128:+128]), 1.0)
        check(d, lambda j: dict(N=i*128+j))
        store(d, Y[i*128:+128])
