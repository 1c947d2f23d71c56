# The input is stored column by column, the task says row by row.
# task: sum_rows_bf16
# expect: unknown task
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[bf16, (R, N), (1, R)], S: Out[f32, (R,)], BN: const = 512):
    for i in tiles(cdiv(R, 4)):
        acc = zeros(f32, (4,))
        for k in range(cdiv(N, BN)):
            acc = acc + reduce(load(X[i*4:+4, k*BN:+BN]).to(f32), axis=1, op=add)
        store(acc, S[i*4:+4])
