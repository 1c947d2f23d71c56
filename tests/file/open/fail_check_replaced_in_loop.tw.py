# The value is replaced in one iteration of a loop: the check is about the value before.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (R, N)], Y: Out[f32, (R, 256)]):
    assume(N >= 512, N % 256 == 0)
    for r in tiles(cdiv(R, 8)):
        x = load(X[r*8:+8, 0:+256])
        for k in range(N // 256):
            if k == 1:
                x = load(X[r*8:+8, 256:+256])
        check(x, lambda i, j: dict(R=r*8 + i, N=j))
        store(x, Y[r*8:+8, 0:+256])
