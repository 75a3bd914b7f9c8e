"""How the models of 10.4 and 10.7 are trained."""

import numpy as np
import paddle

import d2l_ext
from d2l_ext import translation


def test_parameters_keep_no_bits_that_versions_differ_in():
    d2l = d2l_ext.patch_d2l()
    data = translation.load_data_nmt(8, 5, num_examples=16)
    sizes = 4, 4, 4, 4, 4, 4, 6, 2, 1, 0
    net = d2l.EncoderDecoder(
        d2l_ext.TransformerEncoder(len(data.src_vocab), *sizes),
        d2l_ext.TransformerDecoder(len(data.tgt_vocab), *sizes),
    )
    before = [p.numpy().copy() for p in net.parameters()]
    losses = translation.train_seq2seq(
        net, data.train_iter, 0.01, 2, data.tgt_vocab, 2**-20
    )
    assert len(losses) == 2 and losses[1] < losses[0]
    for p in net.parameters():
        steps = p.numpy().astype("float64") * 2**20
        assert (steps == np.round(steps)).all()
        assert not p.stop_gradient
    assert any((p.numpy() != old).any() for p, old in zip(net.parameters(), before))
    assert paddle.is_grad_enabled()
