"""Where the fault lies in a cell of the book: the smallest change that makes it run.

Nothing in Paddle is replaced for these.
"""

from importlib.metadata import version
from typing import NamedTuple

from .._paddle import paddle
from ._table import EVERYWHERE, NUMPY_2_4, PADDLE_3, Where
from .data import NO_OPENCV

# pandas is only needed by d2l, so it is not imported to look.
PANDAS = Where("pandas from 2", True)
PANDAS_3 = Where("pandas from 3", int(version("pandas").split(".")[0]) >= 3)
NO_GPU = Where("without a GPU", paddle.device.cuda.device_count() == 0)


class Cell(NamedTuple):
    """A line that fails.

    Attributes:
        line: as the cell has it, or in that manner.
        change: what to write in its place.
        why: the reason, in a sentence.
        where: on which versions.
        given: code that makes the names of both lines, for the tests.
    """

    line: str
    change: str
    why: str
    where: Where
    given: str


LEAF = "p = paddle.ones([2]); p.stop_gradient = False; (p * p).sum().backward()"
LINEAR = "from paddle import nn; net = nn.Linear(2, 1)"
GRID = (
    "x, y = paddle.meshgrid(paddle.arange(3.0), paddle.arange(4.0)); z = x + y\n"
    "from matplotlib import pyplot as plt"
)
TABLE = (
    "import pandas as pd\n"
    "data = pd.DataFrame({'NumRooms': [None, 2.0], 'Alley': ['Pave', None]})"
)

CELLS = (
    Cell(
        "p.grad.zero_()",
        "p.clear_gradient()",
        "A gradient of a leaf is a leaf itself: it may not be changed in place.",
        EVERYWHERE,
        LEAF,
    ),
    Cell(
        "p[:] -= 0.1 * p.grad",
        "with paddle.no_grad(): p[:] -= 0.1 * p.grad",
        "A leaf may be changed in place only where no gradients are recorded.",
        EVERYWHERE,
        LEAF,
    ),
    Cell(
        "net.weight = paddle.zeros([2, 1])",
        "net.weight.set_value(paddle.zeros([2, 1]))",
        "A tensor cannot take the place of a parameter.",
        EVERYWHERE,
        LINEAR,
    ),
    Cell(
        "paddle.zeros(net.bias)",
        "nn.initializer.Constant(0.0)(net.bias)",
        "zeros makes a new tensor of a shape; a parameter is no shape, and would keep "
        "its values.",
        EVERYWHERE,
        "from paddle import nn; net = nn.Linear(2, 3)",
    ),
    Cell(
        "nn.initializer.XavierUniform(net.weight)",
        "nn.initializer.XavierUniform()(net.weight)",
        "No error, and no effect: the initializer is made and never applied. The same "
        "holds for Normal and the others.",
        EVERYWHERE,
        LINEAR,
    ),
    Cell(
        "paddle.mv(paddle.ones([2, 3]), paddle.ones([3, 1]))",
        "paddle.mm(paddle.ones([2, 3]), paddle.ones([3, 1]))",
        "mv multiplies with a vector; a column has two axes.",
        EVERYWHERE,
        "",
    ),
    Cell(
        "plt.contour(x, y, z)",
        "plt.contour(x.numpy(), y.numpy(), z.numpy())",
        "contour makes numbers of the elements of what is no array; for a tensor with "
        "two axes those are rows.",
        EVERYWHERE,
        GRID,
    ),
    Cell(
        "float(paddle.ones([1]))",
        "paddle.ones([1]).item()",
        "Paddle asks NumPy for the number, and NumPy gives none for an array with "
        "axes. The same holds for int().",
        NUMPY_2_4,
        "",
    ),
    Cell(
        "paddle.ones([2]) * paddle.arange(2)",
        "paddle.ones([2]) * paddle.arange(2).astype('float32')",
        "Tensors of floats and of integers or bools are no longer brought together, "
        "neither in arithmetic nor in comparisons.",
        PADDLE_3,
        "",
    ),
    Cell(
        "paddle.stack([lens[0], lens[1]]).squeeze(1)",
        "paddle.stack([lens[0], lens[1]]).reshape([-1])",
        "An element of a tensor has no axes, so a batch of elements has but one. The "
        "same holds for batches of a DataLoader.",
        EVERYWHERE,
        "lens = paddle.to_tensor([3, 5])",
    ),
    Cell(
        "data.fillna(data.mean())",
        "data.fillna(data.mean(numeric_only=True))",
        "Columns of texts have no mean, and are no longer left out silently.",
        PANDAS,
        TABLE,
    ),
    Cell(
        "data[data.dtypes[data.dtypes != 'object'].index].mean()",
        "data[data.select_dtypes('number').columns].mean()",
        "Columns of texts are of a type of their own and no longer objects.",
        PANDAS_3,
        TABLE,
    ),
    Cell(
        "paddle.to_tensor(pd.get_dummies(data).values)",
        "paddle.to_tensor(pd.get_dummies(data, dtype='float32').values)",
        "get_dummies gives bools, which in one array with floats become objects.",
        PANDAS,
        TABLE,
    ),
    Cell(
        "paddle.to_tensor([1.0], place=paddle.CUDAPlace(0))",
        "paddle.to_tensor([1.0], place=d2l.try_gpu())",
        "A GPU is asked for where there may be none. The same holds for "
        "paddle.set_device('gpu:0'); a second GPU cannot be had at all.",
        NO_GPU,
        "import d2l_ext; d2l = d2l_ext.patch_d2l()",
    ),
    Cell(
        "paddle.set_device('gpu:' + str(paddle.ones([1]).place)[-2])",
        "paddle.set_device(str(paddle.ones([1]).place)[6:-1])",
        "On a CPU, this asks for the GPU named 'gpu:u'.",
        NO_GPU,
        "",
    ),
    Cell(
        "paddle.device.cuda.synchronize()",
        "if paddle.device.cuda.device_count(): paddle.device.cuda.synchronize()",
        "There is nothing to wait for: a CPU computes at once.",
        NO_GPU,
        "",
    ),
    Cell(
        "paddle.vision.image_load(path, backend='cv2')[..., ::-1]",
        "np.array(Image.open(path).convert('RGB'))",
        "Needs opencv-python, for which neither Paddle nor d2l asks; with it, the cell "
        "runs as it is.",
        NO_OPENCV,
        "import numpy as np, matplotlib; from PIL import Image\n"
        "path = matplotlib.get_data_path() + '/images/home.png'",
    ),
)
