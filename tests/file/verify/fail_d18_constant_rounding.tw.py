# D18: 2^24 + 1 is 2^24 in f32, so that pads are chosen everywhere.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 256)):
        z = full(f32, (256,), 16777216.0) + 1.0
        d = where(z != 16777216.0, load(X[i*256:+256]), load(X[i*256 + N:+256]))
        check(d, lambda j: dict(N=i*256+j))
        store(d, Y[i*256:+256])
