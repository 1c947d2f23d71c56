# D20: every tile writes the same elements of an InOut tensor.
# expect: refuted coverage
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], Z: InOut[f32, (512,)], Y: Out[f32, (N,)]):
    for (i,) in tiles(cdiv(N, 512)):
        x = load(X[i*512:+512])
        check(x, lambda j: dict(N=i*512 + j))
        store(x, Y[i*512:+512])
        store(where(iota((512,)) + i*512 < N, x, 1.0), Z[0:+512])
