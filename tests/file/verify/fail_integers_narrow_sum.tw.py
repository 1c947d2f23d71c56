# 100 + 100 does not fit i8.
# expect: refuted bounds
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Z: In[f32, (N,)], Y: Out[f32, (N,)]):
    tag(Z, lambda j: dict(Q=j))
    for i in tiles(cdiv(N, 256)):
        z = full(i8, (256,), 100) + full(i8, (256,), 100)
        d = where(z.to(i32) == 200, load(X[i*256:+256]), load(Z[i*256:+256]))
        check(d, lambda j: dict(N=i*256+j))
        store(d, Y[i*256:+256])
