# Sum of each row, in chunks of C columns.
from tilewright import *


@kernel(target="sm_80", threads=256, configs=(dict(BR=8, C=1024), dict(BR=1, C=4096)))
def sum_rows(X: In[f32, (R, N)], S: Out[f32, (R,)], BR: const = 8, C: const = 1024):
    for r in tiles(cdiv(R, BR)):
        total = zeros(f32, (BR,))
        for k in range(cdiv(N, C)):
            total = total + reduce(load(X[r*BR:+BR, k*C:+C]), axis=1, op=add)
        check(total, lambda i: dict(R=r*BR + i), over=dict(N=range(N)))
        store(total, S[r*BR:+BR])
