# D21: a tile that shares storage with a live one is written before that is read.
# expect: refuted race
from tilewright import *


@kernel(target="sm_80", threads=64, sync="manual")
def f(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    a = shared(f32, (16, 16))
    b = shared(f32, (16, 16))
    c = shared(f32, (16, 32), alias=(a, b))
    for i, j in tiles(cdiv(M, 16), cdiv(N, 32)):
        copy(X[i*16:+16, j*32 + 16:+16], b)
        sync()
        copy(X[i*16:+16, j*32:+16], c[:, 0:+16])
        sync()
        z = load(b)
        check(z, lambda p, q: dict(M=i*16 + p, N=j*32 + 16 + q))
        w = load(c[:, 0:+16])
        check(w, lambda p, q: dict(M=i*16 + p, N=j*32 + q))
        store(w, Y[i*16:+16, j*32:+16])
        store(z, Y[i*16:+16, j*32 + 16:+16])
