# A constant number of columns stands for every number of columns.
# task: sum_rows_bf16
# expect: unknown task
from tilewright import *


@kernel(target="sm_80", threads=128)
def f(X: In[bf16, (R, 512)], S: Out[f32, (R,)]):
    for i in tiles(cdiv(R, 4)):
        store(reduce(load(X[i*4:+4, 0:+512]).to(f32), axis=1, op=add), S[i*4:+4])
