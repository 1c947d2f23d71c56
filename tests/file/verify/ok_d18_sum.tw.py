# D18: pads of 0 are neutral in a sum over chunks.
# expect: proved full
from tilewright import *


@kernel(target="sm_80", threads=128)
def sums(X: In[f32, (R, N)], S: Out[f32, (R,)]):
    for r in tiles(cdiv(R, 8)):
        total = zeros(f32, (8,))
        for k in range(cdiv(N, 64)):
            total = total + reduce(load(X[r*8:+8, k*64:+64]), axis=1, op=add)
        check(total, lambda i: dict(R=r*8 + i), over=dict(N=range(N)))
        store(total, S[r*8:+8])
