# Data decides from which chunk an element is: the check names one.
# expect: unknown check
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (R, N)], Y: Out[f32, (R, 256)]):
    assume(N >= 256, N % 256 == 0)
    for r in tiles(cdiv(R, 8)):
        x = load(X[r*8:+8, 0:+256])
        for k in range(N // 256):
            y = load(X[r*8:+8, k*256:+256])
            x = where(y > 0.0, y, x)
        check(x, lambda i, j: dict(R=r*8 + i, N=j))
        store(x, Y[r*8:+8, 0:+256])
