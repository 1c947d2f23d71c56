# D18: the branch for columns outside lets exp(pad) through.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 256)):
        y = load(X[i*256+1:+256])
        d = where(iota((256,)) + i*256 + 1 < N, y, exp(y))
        store(d, Y[i*256:+256])
