# D18: exp(100) is infinite in f32, so that pads are chosen everywhere.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 256)):
        z = exp(full(f32, (256,), 100.0))
        d = where(z < inf, load(X[i*256:+256]), load(X[i*256 + N:+256]))
        check(d, lambda j: dict(N=i*256+j))
        store(d, Y[i*256:+256])
