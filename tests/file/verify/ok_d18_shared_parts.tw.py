# D18: a value that is made of itself again and again is looked at once.
# expect: proved order
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[f32, (R, N)], Y: Out[f32, (R,)]):
    assume(N <= 256)
    for i in tiles(cdiv(R, 4)):
        x = load(X[i*4:+4, 0:+256])
        for k in unroll(range(22)):
            x = x * x - x
        y = reduce(x, axis=1, op=add)
        store(y, Y[i*4:+4])
