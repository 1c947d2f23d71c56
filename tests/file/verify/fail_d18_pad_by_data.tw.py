# D18: data decides whether the pad reaches the output.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Z: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 256)):
        y = load(X[i*256+1:+256])
        z = load(Z[i*256:+256])
        d = where(z > 0.0, where(iota((256,)) + i*256 + 1 < N, y, 2.0), exp(y))
        store(d, Y[i*256:+256])
