# Softmax of rows of any length: the running maximum and the sum in one pass, the result in a second.
from tilewright import *


@kernel(target="sm_80", threads=256, configs=(dict(BR=1, C=4096), dict(BR=8, C=512)))
def softmax_long(X: In[f32, (R, N)], Y: Out[f32, (R, N)], BR: const = 1, C: const = 4096):
    assume(N >= 1)
    for r in tiles(cdiv(R, BR)):
        top = full(f32, (BR,), -inf)
        for k in range(cdiv(N, C)):
            top = maximum(top, reduce(load(X[r*BR:+BR, k*C:+C], fill=-inf), axis=1, op=max))
        total = zeros(f32, (BR,))
        for k in range(cdiv(N, C)):
            x = load(X[r*BR:+BR, k*C:+C], fill=-inf)
            total = total + reduce(exp(x - top[:, None]), axis=1, op=add)
        check(total, lambda i: dict(R=r*BR + i), over=dict(N=range(N)))
        for k in range(cdiv(N, C)):
            x = load(X[r*BR:+BR, k*C:+C], fill=-inf)
            y = exp(x - top[:, None]) / total[:, None]
            check(y, lambda i, j: dict(R=r*BR + i, N=k*C + j))
            store(y, Y[r*BR:+BR, k*C:+C])
