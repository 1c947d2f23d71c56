# The rows are summed in bf16.
# task: sum_rows_bf16
# expect: refuted task
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[bf16, (R, N)], S: Out[f32, (R,)], BN: const = 512):
    for i in tiles(cdiv(R, 4)):
        acc = zeros(bf16, (4,))
        for k in range(cdiv(N, BN)):
            acc = acc + reduce(load(X[i*4:+4, k*BN:+BN]), axis=1, op=add)
        store(acc.to(f32), S[i*4:+4])
