# D21: the barrier that lets the buffer be written again is executed in the first step only.
# expect: refuted race
from tilewright import *


@kernel(target="sm_80", threads=64, sync="manual")
def f(X: In[f32, (M, N)], Y: Out[f32, (N, M)]):
    assume(N % 4 == 0)
    s = shared(f32, (16, 16))
    n = cdiv(N, 16)
    for i in tiles(cdiv(M, 16)):
        for k in range(n):
            copy(X[i*16:+16, k*16:+16], s, via=cp_async)
            drain(cp_async)
            sync()
            x = load(s.T)
            check(x, lambda b, a: dict(M=i*16 + a, N=k*16 + b))
            store(x, Y[k*16:+16, i*16:+16])
            if k == 0:
                sync()
