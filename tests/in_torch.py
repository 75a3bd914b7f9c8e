"""The book's decoders in PyTorch, which its package does not have: 10.4 and 10.7.

The parts are of the same names as in the book; only what a test needs is here. Inputs
and outputs are those of our classes.
"""

import math

import torch
from torch import nn


def seq2seq_attention_decoder(book, vocab_size, embed_size, num_hiddens, num_layers):
    class Seq2SeqAttentionDecoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = book.AdditiveAttention(*[num_hiddens] * 3, 0)
            self.embedding = nn.Embedding(vocab_size, embed_size)
            self.rnn = nn.GRU(embed_size + num_hiddens, num_hiddens, num_layers)
            self.dense = nn.Linear(num_hiddens, vocab_size)

        def forward(self, X, state):
            outputs, hidden, lens = state
            steps = []
            for x in self.embedding(X).unbind(1):
                query = hidden[-1].unsqueeze(1)
                context = self.attention(query, outputs, outputs, lens).squeeze(1)
                step, hidden = self.rnn(torch.cat((context, x), 1)[None], hidden)
                steps.append(step[0])
            return self.dense(torch.stack(steps, 1)), [outputs, hidden, lens]

    return Seq2SeqAttentionDecoder()


def decoder_block(book, size, ffn_num_hiddens, num_heads, i):
    class DecoderBlock(nn.Module):
        def __init__(self):
            super().__init__()
            for n in 1, 2:
                attention = book.MultiHeadAttention(*[size] * 4, num_heads, 0)
                setattr(self, f"attention{n}", attention)
            for n in 1, 2, 3:
                setattr(self, f"addnorm{n}", book.AddNorm(size, 0))
            self.ffn = book.PositionWiseFFN(size, ffn_num_hiddens, size)

        def forward(self, X, state):
            encoded, lens, seen = state
            assert seen[i] is None  # a whole sequence at once
            upto = torch.arange(1, X.shape[1] + 1).repeat(X.shape[0], 1)
            Y = self.addnorm1(X, self.attention1(X, X, X, upto))
            Z = self.addnorm2(Y, self.attention2(Y, encoded, encoded, lens))
            return self.addnorm3(Z, self.ffn(Z)), state

    return DecoderBlock()


def transformer_decoder(book, vocab_size, size, ffn_num_hiddens, num_heads, layers):
    class TransformerDecoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, size)
            self.pos_encoding = book.PositionalEncoding(size, 0)
            self.blks = nn.Sequential()
            for i in range(layers):
                block = decoder_block(book, size, ffn_num_hiddens, num_heads, i)
                self.blks.add_module(f"block{i}", block)
            self.dense = nn.Linear(size, vocab_size)

        def forward(self, X, state):
            X = self.pos_encoding(self.embedding(X) * math.sqrt(size))
            for block in self.blks:
                X, state = block(X, state)
            return self.dense(X), state

    return TransformerDecoder()
