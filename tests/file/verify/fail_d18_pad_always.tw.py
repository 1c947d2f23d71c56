# D18: exp of a pad is added to every element.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 256)):
        y = load(X[i*256+N:+256])
        z = load(X[i*256:+256])
        check(z, lambda j: dict(N=i*256+j))
        store(z + exp(y), Y[i*256:+256])
