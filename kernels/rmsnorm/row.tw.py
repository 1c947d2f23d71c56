# RMSNorm of each row with the row in registers. Rows of at most C columns, 16-byte aligned.
from tilewright import *


@kernel(target="sm_80", threads=256, configs=(dict(BR=8, C=1024), dict(BR=1, C=4096)))
def rmsnorm_row(X: In[f32, (R, N)], gamma: In[f32, (N,)], Y: Out[f32, (R, N)], BR: const = 8, C: const = 1024):
    assume(N >= 1, N <= C, N % 4 == 0)
    for r in tiles(cdiv(R, BR)):
        x = load(X[r*BR:+BR, 0:+C])
        square = reduce(x * x, axis=1, op=add)
        check(square, lambda i: dict(R=r*BR + i), over=dict(N=range(N)))
        y = x * rsqrt(square / N.to(f32) + 1e-6)[:, None] * load(gamma[0:+C])[None, :]
        check(y, lambda i, j: dict(R=r*BR + i, N=j))
        store(y, Y[r*BR:+BR, 0:+C])
