# A program that touches every construct.
from tilewright import *

@fn
def online(s, m, scale):  # comment
    m2 = maximum(m, reduce(s, axis=1, op=max))
    return exp2(s * scale - m2[:, None]), m2

@kernel(target="sm_80", threads=256, configs=(dict(BM=64), dict(BM=128)))
def gemm(A: In[bf16, (M, K), (LDA, 1)], D: Out[f32, (M, N)],
         BM: const = 128, # inside
         S: const = 4, x: i32):
    """doc"""
    assume(K % 8 == 0, 0 <= K < 2**31, forall(NB, lambda b: cq[b] <= cq[b + 1] and not flag))
    sA, sB = shared(bf16, (BM, 32), ring=S, swizzle=64), shared(f32, (1,), pad=8, alias=(sA,))
    for bm, (bn, n) in enumerate(tiles(cdiv(M, BM), lambda i, j: -i, order=grouped(8))):
        # own line
        acc = zeros(f32, (BM, 1)); acc += 1.5e-3 * ~x
        while k > 0 or k < -3 and (a if b else c):
            with group(), role("m", warps=1) as w:
                copy(A[bm*BM:+BM, :, None], sA[k - 1 if k else 0], via=vector(16), fill=-inf)
            if k == 1:
                break
            # about elif
            elif k != 2:
                continue
            else:
                pass
            # dangling
        table = {"a": [1, 0x10, 1_000], 'b': None}
        check(acc, lambda i, j: dict(M=bm*BM + i), over=dict(K=range(K)), where=lambda i: (i | 1) ^ 2 & 3 << 4 >> 1)
        store(acc.to(bf16).T, D[bm*BM:+BM, 0:+(BM if True else 1)], via=vector(2 ** -1))
    return
