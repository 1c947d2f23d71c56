# D21: a barrier at the end of each tile lets the block's next one begin.
# expect: proved full
from tilewright import *


@kernel(target="sm_80", threads=64, sync="manual")
def f(X: In[f32, (M, N)], Y: Out[f32, (N, M)]):
    s = shared(f32, (16, 16), ring=2)
    n = cdiv(N, 16)
    for i in tiles(cdiv(M, 16), persistent=True):
        for k in range(n):
            copy(X[i*16:+16, k*16:+16], s[k])
            sync()
            x = load(s[k].T)
            check(x, lambda b, a: dict(M=i*16 + a, N=k*16 + b))
            store(x, Y[k*16:+16, i*16:+16])
        sync()
