# Every step is computed in bf16, the task rounds the result only.
# task: softmax_bf16
# expect: refuted task
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[bf16, (R, N)], Y: Out[bf16, (R, N)]):
    assume(N >= 1, N <= 512)
    for r in tiles(cdiv(R, 4)):
        x = load(X[r*4:+4, 0:+512], fill=-inf)
        e = exp(x - reduce(x, axis=1, op=max)[:, None])
        y = e.to(f32) / reduce(e.to(f32), axis=1, op=add)[:, None]
        store(y.to(bf16), Y[r*4:+4, 0:+512])
