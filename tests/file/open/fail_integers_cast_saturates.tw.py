# A cast to i32 saturates, so that it is no longer the same number.
# expect: unknown bounds
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for i in tiles(cdiv(N, 256)):
        z = (iota((256,)).to(i64) * 100000000).to(i32).to(i64)
        d = where(z == iota((256,)).to(i64) * 100000000, load(X[i*256:+256]), load(X[i*256 + N:+256]))
        check(d, lambda j: dict(N=i*256+j))
        store(d, Y[i*256:+256])
