# LayerNorm of rows of any length: mean, variance and result each in a pass of its own.
from tilewright import *


@kernel(target="sm_80", threads=256, configs=(dict(BR=1, C=4096), dict(BR=8, C=512)))
def layernorm_long(X: In[f32, (R, N)], gamma: In[f32, (N,)], beta: In[f32, (N,)], Y: Out[f32, (R, N)],
                   BR: const = 1, C: const = 4096):
    assume(N >= 1)
    for r in tiles(cdiv(R, BR)):
        total = zeros(f32, (BR,))
        for k in range(cdiv(N, C)):
            total = total + reduce(load(X[r*BR:+BR, k*C:+C]), axis=1, op=add)
        check(total, lambda i: dict(R=r*BR + i), over=dict(N=range(N)))
        mean = total / N.to(f32)
        square = zeros(f32, (BR,))
        for k in range(cdiv(N, C)):
            d = where(iota((BR, C), axis=1) + k*C < N, load(X[r*BR:+BR, k*C:+C]) - mean[:, None], 0.0)
            square = square + reduce(d * d, axis=1, op=add)
        scale = rsqrt(square / N.to(f32) + 1e-5)
        for k in range(cdiv(N, C)):
            d = load(X[r*BR:+BR, k*C:+C]) - mean[:, None]
            y = d * scale[:, None] * load(gamma[k*C:+C])[None, :] + load(beta[k*C:+C])[None, :]
            check(y, lambda i, j: dict(R=r*BR + i, N=k*C + j))
            store(y, Y[r*BR:+BR, k*C:+C])
