# D20: a statement outside the tile loops is executed by every block.
# expect: refuted coverage
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (N,)], B: In[f32, (4,)], Y: Out[f32, (N,)], Z: Out[f32, (4,)]):
    assume(N >= 1)
    b = load(B[0:+4])
    store(b, Z[0:+4])
    for (i,) in tiles(cdiv(N, 512)):
        x = load(X[i*512:+512])
        check(x, lambda j: dict(N=i*512 + j))
        store(x, Y[i*512:+512])
