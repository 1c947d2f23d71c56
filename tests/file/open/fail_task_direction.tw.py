# The output is declared InOut, and half of it is never written.
# task: sum_rows_bf16
# expect: unknown coverage
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[bf16, (R, N)], S: InOut[f32, (R,)], BN: const = 512):
    for i in tiles(cdiv(R, 8)):
        acc = zeros(f32, (4,))
        for k in range(cdiv(N, BN)):
            acc = acc + reduce(load(X[i*8:+4, k*BN:+BN]).to(f32), axis=1, op=add)
        store(acc, S[i*8:+4])
