# The names of the two sizes are exchanged: callers bind sizes by name.
# task: sum_rows_bf16
# expect: unknown task
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[bf16, (N, R)], S: Out[f32, (N,)], BN: const = 512):
    for i in tiles(cdiv(N, 4)):
        acc = zeros(f32, (4,))
        for k in range(cdiv(R, BN)):
            acc = acc + reduce(load(X[i*4:+4, k*BN:+BN]).to(f32), axis=1, op=add)
        store(acc, S[i*4:+4])
