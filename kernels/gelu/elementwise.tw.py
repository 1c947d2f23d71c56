# GELU of each element.
from tilewright import *


@kernel(target="sm_80", threads=256, configs=(dict(C=2048), dict(C=4096)))
def gelu_elementwise(X: In[f32, (N,)], Y: Out[f32, (N,)], C: const = 2048):
    for t in tiles(cdiv(N, C)):
        x = load(X[t*C:+C])
        y = 0.5 * x * (1.0 + erf(x * 0.7071067811865476))
        check(y, lambda i: dict(N=t*C + i))
        store(y, Y[t*C:+C])
