# D21: every copy is a group of its own, so the wait leaves two pending.
# expect: proved full
from tilewright import *


@kernel(target="sm_80", threads=64, sync="manual")
def f(X: In[f32, (M, N)], Z: In[f32, (M, N)], Y: Out[f32, (N, M)]):
    assume(N % 4 == 0)
    s = shared(f32, (16, 16), ring=2)
    t = shared(f32, (16, 16), ring=2)
    n = cdiv(N, 16)
    for i in tiles(cdiv(M, 16)):
        copy(X[i*16:+16, 0:+16], s[0], via=cp_async)
        copy(Z[i*16:+16, 0:+16], t[0], via=cp_async)
        for k in range(n):
            if k + 1 < n:
                copy(X[i*16:+16, (k + 1)*16:+16], s[k + 1], via=cp_async)
                copy(Z[i*16:+16, (k + 1)*16:+16], t[k + 1], via=cp_async)
            if k + 1 < n:
                drain(cp_async, pending=2)
            else:
                drain(cp_async)
            sync()
            x = load(s[k].T)
            z = load(t[k].T)
            check(x, lambda b, a: dict(M=i*16 + a, N=k*16 + b))
            check(z, lambda b, a: dict(M=i*16 + a, N=k*16 + b))
            store(x + z, Y[k*16:+16, i*16:+16])
            sync()
