# D2: the accumulator is taken for its transpose by the second product.
# expect: refuted contraction
from tilewright import *


@kernel(target="sm_80", threads=32)
def chain(Q: In[bf16, (M, H)], K: In[bf16, (N, H)], V: In[bf16, (N, E)], O: Out[bf16, (M, E)]):
    assume(H == 64, E == 64, finite(Q), finite(K), finite(V))
    sV = shared(bf16, (16, 64), pad=8)
    for m in tiles(cdiv(M, 16)):
        q = load(Q[m*16:+16, 0:+64])
        o = zeros(f32, (16, 64))
        for n in range(cdiv(N, 16)):
            k = load(K[n*16:+16, 0:+64])
            s = mma(k, q, zeros(f32, (16, 16)), via=mma_m16n8k16)
            copy(V[n*16:+16, 0:+64], sV)
            o = mma(s.to(bf16), load(sV.T, via=ldmatrix), o, via=mma_m16n8k16)
        check(o, lambda i, j: dict(M=m*16 + i, E=j), over=dict(N=range(N)))
        store(o.to(bf16), O[m*16:+16, 0:+64])
