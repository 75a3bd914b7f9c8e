"""One epoch of the Transformer of 10.7 with d2l_ext."""

import d2l_ext
from d2l_ext import translation

from .inputs import BATCH, LR, STEPS, TRANSFORMER


def epoch():
    data = translation.load_data_nmt(BATCH, STEPS)
    encoder = d2l_ext.TransformerEncoder(len(data.src_vocab), *TRANSFORMER)
    decoder = d2l_ext.TransformerDecoder(len(data.tgt_vocab), *TRANSFORMER)
    net = d2l_ext.patch_d2l().EncoderDecoder(encoder, decoder)

    def run():
        translation.train_seq2seq(net, data.train_iter, LR, 1, data.tgt_vocab)

    return run
