"""What the findings say: what is wrong, and what to do about it, in two languages."""

from __future__ import annotations

import os
from typing import NamedTuple


class Sentence(NamedTuple):
    """Whether it stops a notebook, and twice what is wrong and what to do."""

    stops: bool
    english: tuple[str, str]
    chinese: tuple[str, str]


# Names in braces are values of the finding; {pip} is this Python's pip, as a command.
SENTENCES = {
    "no-venv": Sentence(
        True,
        (
            ".venv is missing, or not finished, or its Python does not start.",
            "make setup",
        ),
        (".venv不存在、没有装完，或者其中的Python启动不了。", "make setup"),
    ),
    "python": Sentence(
        True,
        (
            "Python {version}: d2l_ext and Paddle run on Python 3.8 to 3.13.",
            "Install one of these (python.org, conda, pyenv), and the packages in it; in "
            "the repository, from 3.9: make setup PYTHON=/path/to/it",
        ),
        (
            "Python {version}：d2l_ext和Paddle需要Python 3.8到3.13。",
            "安装其中一个版本（python.org、conda、pyenv），再在其中安装各个包；在本仓库中"
            "（3.9或更新）：make setup PYTHON=它的路径",
        ),
    ),
    "platform": Sentence(
        True,
        (
            "Paddle has no wheels for this Python ({platform}).",
            "Use a 64 bit Python on Linux x86_64, Windows x86_64 or macOS arm64, or a "
            "platform such as AI Studio.",
        ),
        (
            "Paddle没有为这个Python（{platform}）发布安装包。",
            "换用Linux x86_64、Windows x86_64或macOS arm64上的64位Python，或者AI Studio等平台。",
        ),
    ),
    "avx": Sentence(
        True,
        (
            "This processor has no AVX, or a virtual machine hides it: importing Paddle "
            "ends the process (illegal instruction).",
            "Use another machine or AI Studio; in a virtual machine, pass the host's "
            "processor on (for QEMU: -cpu host).",
        ),
        (
            "这个处理器没有AVX指令，或者虚拟机没有把它传进来：导入Paddle时进程会被终止（非法指令）。",
            "换一台机器或用AI Studio；在虚拟机中，让它使用主机的处理器（QEMU：-cpu host）。",
        ),
    ),
    "memory": Sentence(
        True,
        (
            "Only {free} MB of memory are free; a notebook needs {needed}.",
            "Shut down other kernels and programs. In a container, raise its limit.",
        ),
        (
            "空闲内存只有{free} MB，一个笔记本需要{needed} MB。",
            "关闭其他内核和程序；在容器中，调高内存上限。",
        ),
    ),
    "disk": Sentence(
        True,
        (
            "Only {free} MB are free on the disk of {folder}; {needed} are needed.",
            "Delete what is not needed, or use a folder on another disk.",
        ),
        (
            "{folder}所在的磁盘只剩{free} MB，需要{needed} MB。",
            "删除不需要的文件，或换到另一个磁盘上的文件夹。",
        ),
    ),
    "shadow": Sentence(
        True,
        (
            "{path} hides the module {module}: `import {module}` finds it first.",
            "Rename it or move it elsewhere, and restart the kernel.",
        ),
        (
            "{path}挡住了模块{module}：`import {module}`会先找到它。",
            "改名或移走，然后重启内核。",
        ),
    ),
    "path-entry": Sentence(
        False,
        (
            "{path}, by way of PYTHONPATH, takes the place of the installed {module}.",
            "If a notebook fails: unset PYTHONPATH, and start Jupyter again.",
        ),
        (
            "PYTHONPATH中的{path}代替了已安装的{module}。",
            "如果笔记本出错：unset PYTHONPATH，然后重新启动Jupyter。",
        ),
    ),
    "two-paddles": Sentence(
        True,
        (
            "Several builds of Paddle are installed into one folder ({names}), and "
            "overwrite each other's files.",
            "{pip} uninstall -y {names}, then install one of them again.",
        ),
        (
            "同一个文件夹里装了几种Paddle（{names}），它们互相覆盖文件。",
            "{pip} uninstall -y {names}，然后重新安装其中一个。",
        ),
    ),
    "no-paddle": Sentence(
        True,
        ("PaddlePaddle is not installed in this Python.", '{pip} install "{package}"'),
        ("这个Python里没有安装PaddlePaddle。", '{pip} install "{package}"'),
    ),
    "no-d2l-ext": Sentence(
        True,
        (
            "A notebook does not find d2l_ext: it is not installed in this Python.",
            "In the repository's folder: {pip} install --no-deps .",
        ),
        (
            "笔记本找不到d2l_ext：这个Python里没有安装。",
            "在本仓库的文件夹中：{pip} install --no-deps .",
        ),
    ),
    "other-copy": Sentence(
        True,
        (
            "Notebooks import the d2l_ext in {used}, whose files are not those of "
            "{here}, which came with the notebooks.",
            "In the repository's folder: {pip} install --no-deps --force-reinstall . "
            "(and take {used} out of PYTHONPATH, if it is in it).",
        ),
        (
            "笔记本导入的是{used}中的d2l_ext，它的文件与随笔记本一起的{here}不同。",
            "在本仓库的文件夹中：{pip} install --no-deps --force-reinstall .（如果{used}"
            "来自PYTHONPATH，就从中去掉）。",
        ),
    ),
    "no-d2l": Sentence(
        True,
        (
            "The book's package d2l is not installed.",
            "{pip} install --no-deps d2l=={version}",
        ),
        ("没有安装书中的d2l包。", "{pip} install --no-deps d2l=={version}"),
    ),
    "d2l-version": Sentence(
        True,
        (
            "d2l {old} in {place} has no Paddle edition (d2l/paddle.py).",
            "{pip} install --no-deps d2l=={new}",
        ),
        (
            "{place}中的d2l {old}没有Paddle版（d2l/paddle.py）。",
            "{pip} install --no-deps d2l=={new}",
        ),
    ),
    "missing": Sentence(
        True,
        ("These packages are not installed: {names}.", "{pip} install {names}"),
        ("缺少这些包：{names}。", "{pip} install {names}"),
    ),
    "numpy": Sentence(
        True,
        (
            "{module} was built for another NumPy than the one installed: {error}",
            '{pip} install "numpy<2" for Paddle 2; else {pip} install --upgrade {module}',
        ),
        (
            "{module}是为另一个版本的NumPy编译的：{error}",
            'Paddle 2：{pip} install "numpy<2"；否则：{pip} install --upgrade {module}',
        ),
    ),
    "protobuf": Sentence(
        True,
        (
            "{module} does not go with the protobuf that is installed: {error}",
            '{pip} install --upgrade "protobuf>=3.20.2"; Paddle before 2.5, and on '
            'Windows before 3.0, wants "protobuf==3.20.2".',
        ),
        (
            "{module}与已安装的protobuf不相容：{error}",
            '{pip} install --upgrade "protobuf>=3.20.2"；2.5以前的Paddle，以及Windows上'
            '3.0以前的，要"protobuf==3.20.2"。',
        ),
    ),
    "gpu-driver": Sentence(
        True,
        (
            "The NVIDIA driver is older than what this Paddle was built for.",
            "Update the driver (nvidia-smi shows its version), or use the CPU: {pip} "
            "uninstall -y paddlepaddle-gpu, then {pip} install paddlepaddle",
        ),
        (
            "NVIDIA驱动太旧，不够这个Paddle使用。",
            "更新驱动（nvidia-smi会显示版本），或者改用CPU：{pip} uninstall -y "
            "paddlepaddle-gpu，再{pip} install paddlepaddle",
        ),
    ),
    "cuda-library": Sentence(
        True,
        (
            "Paddle for GPU lacks a CUDA library: {error}",
            "Install the CUDA and cuDNN that this Paddle names, and put their folder into "
            "LD_LIBRARY_PATH; or use the CPU: {pip} uninstall -y paddlepaddle-gpu, then "
            "{pip} install paddlepaddle",
        ),
        (
            "GPU版Paddle找不到CUDA的库：{error}",
            "安装这个Paddle所说的CUDA和cuDNN，并把它们的文件夹写入LD_LIBRARY_PATH；或者改用"
            "CPU：{pip} uninstall -y paddlepaddle-gpu，再{pip} install paddlepaddle",
        ),
    ),
    "gpu": Sentence(
        True,
        (
            "The GPU could not be used: {error}",
            "See with nvidia-smi what else uses it, and shut down other kernels; or set "
            "CUDA_VISIBLE_DEVICES to nothing before Jupyter starts, for the CPU.",
        ),
        (
            "不能使用GPU：{error}",
            "用nvidia-smi看看还有什么在用它，并关闭其他内核；或者在启动Jupyter之前把"
            "CUDA_VISIBLE_DEVICES设为空，改用CPU。",
        ),
    ),
    "old-system": Sentence(
        True,
        (
            "The system is too old for {module}: {error}",
            "Use a newer system (Ubuntu 20.04, Debian 11 or later), or AI Studio.",
        ),
        (
            "系统太旧，不能运行{module}：{error}",
            "使用较新的系统（Ubuntu 20.04、Debian 11或以后），或AI Studio。",
        ),
    ),
    "shared-object": Sentence(
        True,
        (
            "{module} needs the system library {detail}, which is missing.",
            "Install it with the system's packages (libgomp.so.1 on Debian and Ubuntu: sudo "
            "apt install libgomp1).",
        ),
        (
            "{module}需要系统库{detail}，这里没有。",
            "用系统的包管理器安装（Debian和Ubuntu上的libgomp.so.1：sudo apt install libgomp1）。",
        ),
    ),
    "needs": Sentence(
        True,
        ("{module} needs {detail}, which is not installed.", "{pip} install {package}"),
        ("{module}需要{detail}，这里没有安装。", "{pip} install {package}"),
    ),
    "needs-part": Sentence(
        True,
        (
            "{module} needs {detail}, which the installed {package} does not have.",
            "{pip} install --upgrade {package}",
        ),
        (
            "{module}需要{detail}，已安装的{package}里没有。",
            "{pip} install --upgrade {package}",
        ),
    ),
    "crash": Sentence(
        True,
        (
            "Importing {module} ends the process ({error}).",
            "Install it anew: {pip} install --force-reinstall --no-deps, with its name and "
            "version from {pip} list; if it stays, free some memory, or try another version.",
        ),
        (
            "导入{module}时进程被终止（{error}）。",
            "重新安装：{pip} install --force-reinstall --no-deps，后面写{pip} list中的名字和"
            "版本；如果仍然这样，腾出内存，或换一个版本。",
        ),
    ),
    "slow": Sentence(
        True,
        (
            "Importing {module} takes more than 3 minutes.",
            "Run the doctor again; if it stays so, use an environment on a disk of this "
            "machine, not on the network.",
        ),
        (
            "导入{module}超过3分钟还没有完成。",
            "再运行一次；如果仍然这样，把环境放到本机的磁盘上，不要放在网络盘上。",
        ),
    ),
    "broken": Sentence(
        True,
        (
            "{module} is installed, and fails: {error}",
            "Install it anew: {pip} install --force-reinstall --no-deps, with its name and "
            "version from {pip} list.",
        ),
        (
            "{module}已经安装，但是出错：{error}",
            "重新安装：{pip} install --force-reinstall --no-deps，后面写{pip} list中的名字和版本。",
        ),
    ),
    "fonts": Sentence(
        True,
        (
            "matplotlib has lost its font DejaVu Sans, which all figures use.",
            "{pip} install --force-reinstall --no-deps matplotlib",
        ),
        (
            "matplotlib缺少各图所用的字体DejaVu Sans。",
            "{pip} install --force-reinstall --no-deps matplotlib",
        ),
    ),
    "kernel-other": Sentence(
        True,
        (
            "Jupyter's kernel `python3` ({folder}) starts another Python: {python}",
            "{command}",
        ),
        (
            "Jupyter的内核`python3`（{folder}）启动的是另一个Python：{python}",
            "{command}",
        ),
    ),
    "kernel-missing": Sentence(
        True,
        (
            "{path} asks for the kernel `{kernel}`, which is not here.",
            "In JupyterLab: Kernel, Change Kernel, Python 3 (ipykernel); then save.",
        ),
        (
            "{path}要求内核`{kernel}`，这里没有。",
            "在JupyterLab中选择Kernel、Change Kernel、Python 3 (ipykernel)，然后保存。",
        ),
    ),
    "unreadable": Sentence(
        True,
        (
            "{path} is not a notebook: its file is damaged (or a merge was not finished).",
            "Get it again (git checkout -- FILE), or finish the merge.",
        ),
        (
            "{path}不是笔记本：文件已损坏（或者合并没有做完）。",
            "重新取得这个文件（git checkout -- 文件名），或做完合并。",
        ),
    ),
    "home": Sentence(
        True,
        (
            "The home folder, {folder}, cannot be written to, and packages do.",
            "Set HOME to a folder of yours before Jupyter starts.",
        ),
        (
            "主文件夹{folder}不能写入，而有的包要写入它。",
            "在启动Jupyter之前把HOME设为自己的文件夹。",
        ),
    ),
    "no-home": Sentence(
        True,
        (
            "There is no home folder: HOME is not set, and the system knows none for this "
            "user. Jupyter and matplotlib need one.",
            "Set HOME to a folder of yours before Jupyter starts.",
        ),
        (
            "没有主文件夹：没有设置HOME，系统也不知道这个用户的主文件夹，而Jupyter和matplotlib要用它。",
            "在启动Jupyter之前把HOME设为自己的文件夹。",
        ),
    ),
    "temporary": Sentence(
        True,
        (
            "There is no folder for temporary files that can be written to.",
            "Make one, and set TMPDIR to it before Jupyter starts.",
        ),
        ("没有可以写入的临时文件夹。", "建一个，并在启动Jupyter之前把TMPDIR设为它。"),
    ),
    "runtime": Sentence(
        True,
        (
            "Jupyter cannot write into {folder}, so JupyterLab does not start.",
            "Set JUPYTER_RUNTIME_DIR to a folder of yours before Jupyter starts, or change "
            "the owner of {folder}.",
        ),
        (
            "Jupyter不能写入{folder}，JupyterLab启动不了。",
            "在启动Jupyter之前把JUPYTER_RUNTIME_DIR设为自己的文件夹，或更改{folder}的所有者。",
        ),
    ),
    "backend": Sentence(
        True,
        (
            "MPLBACKEND={value}: figures do not appear in notebooks.",
            "unset MPLBACKEND, and start Jupyter again.",
        ),
        (
            "MPLBACKEND={value}：图不会显示在笔记本中。",
            "unset MPLBACKEND，然后重新启动Jupyter。",
        ),
    ),
    "warnings-error": Sentence(
        True,
        (
            "PYTHONWARNINGS={value}: harmless warnings of packages become errors.",
            "unset PYTHONWARNINGS, and start Jupyter again.",
        ),
        (
            "PYTHONWARNINGS={value}：各个包无害的警告会变成错误。",
            "unset PYTHONWARNINGS，然后重新启动Jupyter。",
        ),
    ),
    "optimize": Sentence(
        False,
        (
            "PYTHONOPTIMIZE is set: `assert` checks nothing, not even your answers.",
            "unset PYTHONOPTIMIZE, and start Jupyter again.",
        ),
        (
            "设置了PYTHONOPTIMIZE：`assert`什么也不检查，包括对答案的检查。",
            "unset PYTHONOPTIMIZE，然后重新启动Jupyter。",
        ),
    ),
    "warnings": Sentence(
        False,
        (
            "PYTHONWARNINGS={value}: cells show warnings that are hidden by default.",
            "unset PYTHONWARNINGS, and start Jupyter again.",
        ),
        (
            "PYTHONWARNINGS={value}：单元会显示平时隐藏的警告。",
            "unset PYTHONWARNINGS，然后重新启动Jupyter。",
        ),
    ),
    "threads": Sentence(
        False,
        (
            "OMP_NUM_THREADS={value}: Paddle prints a warning when it is imported.",
            "unset OMP_NUM_THREADS, and start Jupyter again.",
        ),
        (
            "OMP_NUM_THREADS={value}：导入Paddle时会输出一段警告。",
            "unset OMP_NUM_THREADS，然后重新启动Jupyter。",
        ),
    ),
    "log": Sentence(
        False,
        (
            "GLOG_v={value}: Paddle writes its log into the notebook.",
            "unset GLOG_v, and start Jupyter again.",
        ),
        (
            "GLOG_v={value}：Paddle会把日志写进笔记本。",
            "unset GLOG_v，然后重新启动Jupyter。",
        ),
    ),
    "flags": Sentence(
        False,
        (
            "These variables change how Paddle computes: {names}.",
            "Unset them, unless you know why they are set (FLAGS_check_nan_inf turns an "
            "infinite number into an error).",
        ),
        (
            "这些变量改变Paddle的计算方式：{names}。",
            "除非知道为什么设置，否则取消（FLAGS_check_nan_inf会把无穷大变成错误）。",
        ),
    ),
    "numpy-for-paddle": Sentence(
        False,
        (
            "Paddle {paddle} was built for NumPy 1, and NumPy is {numpy}.",
            'If a notebook fails: {pip} install "numpy<2"',
        ),
        (
            "Paddle {paddle}是为NumPy 1编译的，而NumPy是{numpy}。",
            '如果笔记本出错：{pip} install "numpy<2"',
        ),
    ),
    "paddle-untried": Sentence(
        False,
        (
            "The notebooks were not tried with Paddle {paddle}, but with 2.6.2 to 3.3; with 2.5.2, "
            "only those in the zip of `make aistudio`.",
            "If one fails, in an environment of your own: {pip} uninstall -y {old}, then "
            '{pip} install "{package}"',
        ),
        (
            "没有用Paddle {paddle}试过这些笔记本；试过的是2.6.2到3.3，2.5.2只试过`make aistudio`的zip。",
            '如果出错，在自己的环境中：{pip} uninstall -y {old}，再{pip} install "{package}"',
        ),
    ),
    "no-gpu": Sentence(
        False,
        (
            "Paddle for GPU finds no GPU, and computes on the CPU.",
            "Nothing to do where there is none. Else see whether nvidia-smi shows it, and "
            "what CUDA_VISIBLE_DEVICES is set to.",
        ),
        (
            "GPU版Paddle没有找到GPU，改在CPU上计算。",
            "没有GPU的机器不用处理；否则看nvidia-smi是否显示它，以及CUDA_VISIBLE_DEVICES的值。",
        ),
    ),
    "font-cache": Sentence(
        False,
        (
            "matplotlib has no folder to write to: the first figure is slow, with a warning.",
            "Set MPLCONFIGDIR to a folder of yours before Jupyter starts.",
        ),
        (
            "matplotlib没有可以写入的文件夹：第一张图很慢，并有警告。",
            "在启动Jupyter之前把MPLCONFIGDIR设为自己的文件夹。",
        ),
    ),
    "ipython": Sentence(
        False,
        (
            "IPython cannot write into {folder}: notebooks may begin with a warning.",
            "Set IPYTHONDIR to a folder of yours before Jupyter starts.",
        ),
        (
            "IPython不能写入{folder}：笔记本开头可能有警告。",
            "在启动Jupyter之前把IPYTHONDIR设为自己的文件夹。",
        ),
    ),
    "read-only": Sentence(
        False,
        (
            "{folder} cannot be written to: notebooks run there, but are not saved.",
            "Copy the notebooks into a folder of yours.",
        ),
        (
            "{folder}不能写入：笔记本可以运行，但不能保存。",
            "把笔记本复制到自己的文件夹中。",
        ),
    ),
    "no-widgets": Sentence(
        False,
        (
            "ipywidgets is not installed: figures with sliders are pictures.",
            "{pip} install ipywidgets",
        ),
        ("没有安装ipywidgets：带滑块的图只显示为图片。", "{pip} install ipywidgets"),
    ),
    "no-pip": Sentence(
        False,
        (
            "This Python has no pip, which the commands on such a page call.",
            "{python} -m ensurepip; or install with what made it: uv pip, conda.",
        ),
        (
            "这个Python里没有pip，而这里的命令要用它。",
            "{python} -m ensurepip；或者用建这个环境的程序安装：uv pip、conda。",
        ),
    ),
    "no-torch": Sentence(
        False,
        (
            "PyTorch is not installed: 10.6e, which compares with it, does not run.",
            "If you want it, in the repository: make torch; else: {pip} install torch",
        ),
        (
            "没有安装PyTorch：与它比较的10.6e不能运行。",
            "需要时，在本仓库中：make torch；否则：{pip} install torch",
        ),
    ),
    "check-failed": Sentence(
        False,
        ("The check `{check}` itself failed: {error}", "Report it, with this page."),
        ("检查`{check}`本身出错：{error}", "请附上这一页报告。"),
    ),
}


class Words(NamedTuple):
    """What the page says besides."""

    stops: str
    note: str
    looked: str
    healthy: str
    ill: str
    again: str


ENGLISH = Words(
    "STOPS",
    "note",
    "Notebooks looked at: {folders}",
    "Nothing was found that stops a notebook (notes: {notes}).",
    "Findings that stop a notebook: {stops} of {all}.",
    " Or start over: make clean setup",
)
CHINESE = Words(
    "出错",
    "提示",
    "检查的笔记本文件夹：{folders}",
    "没有发现会使笔记本出错的原因（提示{notes}条）。",
    "{all}条结果中有{stops}条会使笔记本出错。",
    "也可以重新安装：make clean setup",
)


def is_chinese() -> bool:
    """Whether messages are to be in Chinese, by the variables of the locale."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    values = [os.environ[name] for name in names if os.environ.get(name)]
    return bool(values) and values[0].lower().startswith("zh")
