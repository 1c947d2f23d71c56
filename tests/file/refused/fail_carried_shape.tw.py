# A tile that the next iteration takes over has another shape after the first: the only read is another name's next value.
# expect: rejected TW1016
from tilewright import *


@kernel(target="sm_80", threads=64)
def f(X: In[f32, (N,)], Y: Out[f32, (N,)]):
    for r in tiles(cdiv(N, 8)):
        a = load(X[r*8:+8])
        b = load(X[r*8:+8])
        for c in range(N):
            a = b
            b = load(X[r*8:+4])
        store(a, Y[r*8:+8])
