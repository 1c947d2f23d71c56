# D21: the last step but one waits as if there were another group.
# expect: refuted race
from tilewright import *


@kernel(target="sm_80", threads=64, sync="manual")
def f(X: In[f32, (M, N)], Y: Out[f32, (N, M)]):
    assume(N % 4 == 0)
    s = shared(f32, (16, 16), ring=3)
    n = cdiv(N, 16)
    for i in tiles(cdiv(M, 16)):
        for p in range(2):
            if p < n:
                with group():
                    copy(X[i*16:+16, p*16:+16], s[p], via=cp_async)
        for k in range(n):
            if k + 2 < n:
                drain(cp_async, pending=1)
            else:
                if k + 1 < n:
                    drain(cp_async, pending=2)
                else:
                    drain(cp_async, pending=0)
            sync()
            if k + 2 < n:
                with group():
                    copy(X[i*16:+16, (k + 2)*16:+16], s[k + 2], via=cp_async)
            x = load(s[k].T)
            check(x, lambda b, a: dict(M=i*16 + a, N=k*16 + b))
            store(x, Y[k*16:+16, i*16:+16])
