# D18: 300 saturates in i8, so that pads are chosen everywhere.
# expect: refuted init
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 256)):
        z = full(f32, (256,), 300.0).to(i8).to(i32)
        d = where(z == 300, load(X[i*256:+256]), load(X[i*256 + N:+256]))
        check(d, lambda j: dict(N=i*256+j))
        store(d, Y[i*256:+256])
