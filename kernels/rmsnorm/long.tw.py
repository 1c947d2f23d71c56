# RMSNorm of rows of any length: the sum of squares in one pass, the result in a second.
from tilewright import *


@kernel(target="sm_80", threads=256, configs=(dict(BR=1, C=4096), dict(BR=8, C=512)))
def rmsnorm_long(X: In[f32, (R, N)], gamma: In[f32, (N,)], Y: Out[f32, (R, N)], BR: const = 1, C: const = 4096):
    assume(N >= 1)
    for r in tiles(cdiv(R, BR)):
        square = zeros(f32, (BR,))
        for k in range(cdiv(N, C)):
            x = load(X[r*BR:+BR, k*C:+C])
            square = square + reduce(x * x, axis=1, op=add)
        check(square, lambda i: dict(R=r*BR + i), over=dict(N=range(N)))
        scale = rsqrt(square / N.to(f32) + 1e-6)
        for k in range(cdiv(N, C)):
            y = load(X[r*BR:+BR, k*C:+C]) * scale[:, None] * load(gamma[k*C:+C])[None, :]
            check(y, lambda i, j: dict(R=r*BR + i, N=k*C + j))
            store(y, Y[r*BR:+BR, k*C:+C])
