# The squares are computed in bf16.
# task: rmsnorm_bf16
# expect: unknown task
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[bf16, (R, N)], gamma: In[f32, (N,)], Y: Out[bf16, (R, N)], BN: const = 512):
    assume(N >= 1, N <= BN)
    for r in tiles(cdiv(R, 4)):
        x = load(X[r*4:+4, 0:+BN])
        sq = reduce((x * x).to(f32), axis=1, op=add)
        y = x.to(f32) * rsqrt(sq / N.to(f32) + 1e-6)[:, None] * load(gamma[0:+BN])[None, :]
        store(y.to(bf16), Y[r*4:+4, 0:+BN])
