"""One epoch of the Transformer of 10.7 with d2l's PyTorch edition.

d2l has the encoder and all blocks; the decoder, and the loop without its animation, are
written here, and do what d2l_ext does in training.
"""

import torch
from torch import nn

from .inputs import BATCH, LR, STEPS, TRANSFORMER, sentences


def epoch(d2l, device):
    arrays, vocabs = [], []
    for lines in sentences():
        vocab = d2l.Vocab(
            lines, min_freq=2, reserved_tokens=["<pad>", "<bos>", "<eos>"]
        )
        arrays += d2l.build_array_nmt(lines, vocab, STEPS)
        vocabs.append(vocab)
    batches = d2l.load_array(tuple(arrays), BATCH)
    encoder = d2l.TransformerEncoder(len(vocabs[0]), *TRANSFORMER)
    decoder = Decoder(d2l, len(vocabs[1]), *TRANSFORMER)
    net = nn.ModuleList([encoder, decoder]).to(device).train()
    bos = vocabs[1]["<bos>"]
    return lambda: train(d2l, net, batches, bos, device)


def train(d2l, net, batches, bos, device):
    encoder, decoder = net
    adam = torch.optim.Adam(net.parameters(), lr=LR)
    loss = d2l.MaskedSoftmaxCELoss()
    total = tokens = 0.0
    for batch in batches:
        X, X_lens, Y, Y_lens = (part.to(device) for part in batch)
        first = torch.full((len(Y), 1), bos, device=device)
        Y_hat = decoder(torch.cat([first, Y[:, :-1]], 1), encoder(X, X_lens), X_lens)
        loss_of_each = loss(Y_hat, Y, Y_lens)
        adam.zero_grad()
        loss_of_each.sum().backward()
        d2l.grad_clipping(net, 1)
        adam.step()
        total += float(loss_of_each.sum())
        tokens += float(Y_lens.sum())
    return total / tokens


class Block(nn.Module):
    def __init__(self, d2l, sizes, norm_shape, ffn_in, ffn_hidden, heads, dropout):
        super().__init__()
        num_hiddens = sizes[-1]
        self.own = d2l.MultiHeadAttention(*sizes, heads, dropout)
        self.cross = d2l.MultiHeadAttention(*sizes, heads, dropout)
        self.ffn = d2l.PositionWiseFFN(ffn_in, ffn_hidden, num_hiddens)
        norms = [d2l.AddNorm(norm_shape, dropout) for _ in range(3)]
        self.after_own, self.after_cross, self.after_ffn = norms

    def forward(self, X, source, source_lens, up_to_itself):
        X = self.after_own(X, self.own(X, X, X, up_to_itself))
        X = self.after_cross(X, self.cross(X, source, source, source_lens))
        return self.after_ffn(X, self.ffn(X))


class Decoder(nn.Module):
    def __init__(self, d2l, vocab_size, *sizes):
        super().__init__()
        *sizes, norm_shape, ffn_in, ffn_hidden, heads, layers, dropout = sizes
        self.scale = sizes[-1] ** 0.5
        self.embedding = nn.Embedding(vocab_size, sizes[-1])
        self.positions = d2l.PositionalEncoding(sizes[-1], dropout)
        rest = norm_shape, ffn_in, ffn_hidden, heads, dropout
        blocks = [Block(d2l, sizes, *rest) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.dense = nn.Linear(sizes[-1], vocab_size)

    def forward(self, tokens, source, source_lens):
        X = self.positions(self.embedding(tokens) * self.scale)
        steps = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
        up_to_itself = steps.repeat(len(tokens), 1)
        for block in self.blocks:
            X = block(X, source, source_lens, up_to_itself)
        return self.dense(X)
