def scaled_dot_product_attention(q, k, v):
    return q


def gelu(x):
    return x
