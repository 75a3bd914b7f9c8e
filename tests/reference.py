"""The book's formulas in float64 NumPy, written without a look at the package.

Every loop runs over single numbers or rows, so that no axis can be swapped unnoticed.
"""

import math

import numpy as np


def masked_softmax(X, valid_lens):
    """Softmax over the last axis; (batch,) or (batch, queries) lengths, or None."""
    X = np.asarray(X, dtype="float64")
    batch, queries, keys = X.shape
    weights = np.zeros(X.shape)
    for b in range(batch):
        for q in range(queries):
            length = keys if valid_lens is None else np.asarray(valid_lens)[b]
            if np.ndim(length):
                length = length[q]
            kept = [k for k in range(keys) if k < length]
            if kept:
                top = max(X[b, q, k] for k in kept)
                exps = {k: math.exp(X[b, q, k] - top) for k in kept}
                for k in kept:
                    weights[b, q, k] = exps[k] / math.fsum(exps.values())
    return weights


def dot_product_attention(Q, K, V, valid_lens):
    """(10.3.5); returns the output and the weights."""
    Q, K, V = (np.asarray(a, dtype="float64") for a in (Q, K, V))
    scores = np.zeros((Q.shape[0], Q.shape[1], K.shape[1]))
    for b, (q, k) in enumerate(zip(Q, K)):
        scores[b] = q @ k.T / math.sqrt(Q.shape[-1])
    weights = masked_softmax(scores, valid_lens)
    return _pool(weights, V), weights


def _pool(weights, V):
    output = np.zeros((*weights.shape[:2], V.shape[2]))
    for b, (w, v) in enumerate(zip(weights, V)):
        output[b] = w @ v
    return output


def additive_attention(Q, K, V, valid_lens, W_q, W_k, w_v):
    """(10.3.3); the matrices are (size, num_hiddens) and (num_hiddens, 1)."""
    Q, K, V = (np.asarray(a, dtype="float64") for a in (Q, K, V))
    scores = np.zeros((Q.shape[0], Q.shape[1], K.shape[1]))
    for b, q, k in np.ndindex(*scores.shape):
        hidden = np.tanh(Q[b, q] @ W_q + K[b, k] @ W_k)
        scores[b, q, k] = (hidden @ w_v)[0]
    weights = masked_softmax(scores, valid_lens)
    return _pool(weights, V), weights


def multi_head_attention(Q, K, V, valid_lens, W_q, W_k, W_v, W_o, num_heads):
    """(10.5.1) and (10.5.2) without bias: one head after the other."""
    size = W_q.shape[1] // num_heads
    heads, weights = [], []
    for h in range(num_heads):
        part = slice(h * size, (h + 1) * size)
        head = dot_product_attention(
            Q @ W_q[:, part], K @ W_k[:, part], V @ W_v[:, part], valid_lens
        )
        heads.append(head[0])
        weights.append(head[1])
    return np.concatenate(heads, axis=-1) @ W_o, weights


def positional_encoding(n, d):
    """(10.6.2), element by element."""
    table = np.zeros((n, d))
    for i in range(n):
        for column in range(d):
            j = column // 2
            angle = i / 10000 ** (2 * j / d)
            table[i, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


def dot_product_attention_gradients(Q, K, V, valid_lens, G, dropped=1.0):
    """Gradients of sum(G * output) for Q, K and V, derived by hand from (10.3.5).

    ``dropped`` is what dropout multiplied each weight with.
    """
    Q, K, V, G = (np.asarray(a, dtype="float64") for a in (Q, K, V, G))
    weights = dot_product_attention(Q, K, V, valid_lens)[1]
    dV, dscores = _gradients_of_pooling(weights, V, G, dropped)
    dscores = dscores / math.sqrt(Q.shape[-1])
    dQ, dK = np.zeros(Q.shape), np.zeros(K.shape)
    for b, ds in enumerate(dscores):
        dQ[b], dK[b] = ds @ K[b], ds.T @ Q[b]
    return dQ, dK, dV


def _gradients_of_pooling(weights, V, G, dropped=1.0):
    """Gradients of sum(G * (dropped * weights) @ V) for V and for the scores."""
    dV, dscores = np.zeros(V.shape), np.zeros(weights.shape)
    factors = np.broadcast_to(dropped, weights.shape)
    for b, w in enumerate(weights):
        dV[b] = (factors[b] * w).T @ G[b]
        dw = factors[b] * (G[b] @ V[b].T)
        # A softmax passes on w * (dw - sum(w dw)); a masked weight is 0, and so is this.
        dscores[b] = w * (dw - (w * dw).sum(axis=-1, keepdims=True))
    return dV, dscores


def additive_attention_gradients(Q, K, V, valid_lens, W_q, W_k, w_v, G):
    """Gradients of sum(G * output) for Q, K, V and the matrices, from (10.3.3)."""
    Q, K, V, G = (np.asarray(a, dtype="float64") for a in (Q, K, V, G))
    weights = additive_attention(Q, K, V, valid_lens, W_q, W_k, w_v)[1]
    dV, dscores = _gradients_of_pooling(weights, V, G)
    dQ, dK = np.zeros(Q.shape), np.zeros(K.shape)
    dW_q, dW_k, dw_v = (np.zeros(W.shape) for W in (W_q, W_k, w_v))
    for b, q, k in np.ndindex(*dscores.shape):
        hidden = np.tanh(Q[b, q] @ W_q + K[b, k] @ W_k)
        # The score is hidden @ w_v, and tanh' = 1 - tanh^2.
        dw_v[:, 0] += dscores[b, q, k] * hidden
        inside = dscores[b, q, k] * w_v[:, 0] * (1 - hidden**2)
        dQ[b, q] += W_q @ inside
        dK[b, k] += W_k @ inside
        dW_q += np.outer(Q[b, q], inside)
        dW_k += np.outer(K[b, k], inside)
    return dQ, dK, dV, dW_q, dW_k, dw_v


def multi_head_attention_gradients(
    Q, K, V, valid_lens, W_q, W_k, W_v, W_o, num_heads, G
):
    """Gradients of sum(G * output) for Q, K, V and the matrices, head by head."""
    Q, K, V, G = (np.asarray(a, dtype="float64") for a in (Q, K, V, G))
    size = W_q.shape[1] // num_heads
    dX = [np.zeros(a.shape) for a in (Q, K, V)]
    dW = [np.zeros(W.shape) for W in (W_q, W_k, W_v, W_o)]
    for h in range(num_heads):
        part = slice(h * size, (h + 1) * size)
        q, k, v = Q @ W_q[:, part], K @ W_k[:, part], V @ W_v[:, part]
        head = dot_product_attention(q, k, v, valid_lens)[0]
        dhead = G @ W_o[part].T
        dW[3][part] = sum(head[b].T @ G[b] for b in range(len(G)))
        inside = dot_product_attention_gradients(q, k, v, valid_lens, dhead)
        for i, (X, W) in enumerate([(Q, W_q), (K, W_k), (V, W_v)]):
            dX[i] += inside[i] @ W[:, part].T
            dW[i][:, part] = sum(X[b].T @ inside[i][b] for b in range(len(X)))
    return (*dX, *dW)
