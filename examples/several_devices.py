"""Train the Transformer of section 10.7 on several devices, with Paddle's launcher.

    python -m paddle.distributed.launch --devices 0,1 examples/several_devices.py

starts one process for each of these GPUs; with ``--nproc_per_node 2`` in place of
``--devices 0,1``, and a Paddle for the CPU, two processes on the CPU. Started by
``python`` alone, it trains in one process.

Every process has the whole model, and computes a part of each batch; then they add up
their gradients, and so take the same step. The first one prints.
"""

import argparse
import math

import d2l_ext
import numpy as np
import paddle
from d2l_ext import translation
from paddle import distributed

STEPS = 10  # of a sentence


def build_net(data, dropout):
    """The model of section 10.7, with the same weights in every process."""
    sizes = 32, 32, 32, 32, [32], 32, 64, 4, 2, dropout
    encoder = d2l_ext.TransformerEncoder(len(data.src_vocab), *sizes)
    decoder = d2l_ext.TransformerDecoder(len(data.tgt_vocab), *sizes)
    net = d2l_ext.patch_d2l().EncoderDecoder(encoder, decoder)
    rng = np.random.default_rng(0)
    for p in net.parameters():
        if len(p.shape) == 2:
            bound = math.sqrt(6 / sum(p.shape))
            p.set_value(rng.uniform(-bound, bound, p.shape).astype("float32"))
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--dropout", type=float, default=0.1)
    arguments = parser.parse_args()

    if distributed.get_world_size() > 1:
        distributed.init_parallel_env()
    data = translation.load_data_nmt(64, STEPS)
    net = build_net(data, arguments.dropout)
    np.random.seed(0)  # the same batches in every process
    paddle.seed(distributed.get_rank())  # but dropout of its own
    losses = translation.train_seq2seq(
        net, data.train_iter, 0.005, arguments.epochs, data.tgt_vocab
    )
    if distributed.get_rank() == 0:
        for epoch, loss in enumerate(losses, start=1):
            print(f"epoch {epoch}, loss {loss:.6f}", flush=True)
        exact, bleu = translation.score(net, data.held_out, data, STEPS)
        print(f"held out: {exact:.1%} exactly right, BLEU {bleu:.3f}", flush=True)


if __name__ == "__main__":
    main()
