# D20: two tiles of one block go to the same elements of an InOut tensor, from different threads.
# expect: unknown coverage
from tilewright import *


@kernel(target="sm_80", threads=128, sync="manual")
def f(X: In[f32, (M, N)], Z: InOut[f32, (M, N)]):
    s = shared(f32, (32, 32))
    for i, j in tiles(cdiv(M, 32), cdiv(N, 32)):
        copy(X[i*32:+32, j*32:+32], s)
        sync()
        a = load(s.T)
        b = load(X[i*32:+32, j*32:+32])
        check(a, lambda c, r: dict(M=i*32 + r, N=j*32 + c))
        check(b, lambda r, c: dict(M=i*32 + r, N=j*32 + c))
        store(a * 2.0, Z.T[j*32:+32, i*32:+32])
        store(b, Z[i*32:+32, j*32:+32])
