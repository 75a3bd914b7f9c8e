"""What the first cell of a notebook of the bundle calls: see to the environment.

It lies in the bundle's folder packages/, beside d2l and the wheel of d2l_ext. Both are
used from there and never installed: a wheel of pure Python can be imported as it is. So
nothing is written, and whatever the platform has installed stays as it is. Only a
package that is missing altogether is installed, with pip, and with all versions that
are there held fast.

An older Python than d2l_ext needs has to be able to read this: it says so.
"""

import importlib
import importlib.util
import os
import re
import site
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

PACKAGES = Path(__file__).absolute().parent
OURS = "d2l", "d2l_ext"

# What is imported, and what pip calls it. Without bounds: what fits the versions that
# are there is for pip to find.
NEEDED = {
    "numpy": "numpy",
    "matplotlib": "matplotlib",
    "matplotlib_inline": "matplotlib-inline",
    "pandas": "pandas",
    "requests": "requests",
    "IPython": "ipython",
}
# Paddle imports setuptools, and says so only for some versions of Python.
PADDLE = {"paddle": "paddlepaddle>=2.6.2,<3.4", "setuptools": "setuptools"}
OLDEST = (3, 8)  # what d2l_ext needs
OLDEST_PADDLE, OLDEST_NUMPY = [2, 5], [1, 19]
OLDEST_MATPLOTLIB = [3, 5]  # whose set_xticks() takes labels
NEWEST = {"Python": "3.13", "Paddle": "3.3"}
NAMES = {"torch": "PyTorch"}

ZH = {
    "and": "、",
    "ready": "准备好了：{where}，Python {python}，Paddle {paddle}（{device}），"
    "NumPy {numpy}，matplotlib {matplotlib}；d2l {d2l}和d2l_ext {d2l_ext}取自{folder}；"
    "{installed}。",
    "machine": "本机",
    "no gpu": "CPU，飞桨是GPU版，但没有找到可用的GPU",
    "nothing": "没有安装任何包",
    "installed": "安装了{names}",
    "installing": "缺少{names}，正在用pip安装；网慢时要等几分钟。",
    "failed": "缺少{names}，pip没有装上：{why}。没有网络时装不了；请联网后重新运行"
    "这个单元格，或者用平台自己的办法装上{names}，再重启内核。",
    "broken": "导入{name}时出错：{why}。请先按平台的说明，让import {name}能够运行，"
    "再重启内核。",
    "too old": "导入d2l_ext时出错：{why}。这里是飞桨{paddle}、NumPy {numpy}；"
    "d2l_ext要用飞桨{oldest_paddle}、NumPy {oldest_numpy}或更新的。"
    "请在平台上换一个较新的环境。",
    "loaded": "内核里已经导入了别处的{name}（{where}）。请重启内核，"
    "然后从这个单元格开始运行。",
    "old python": "这里是Python {python}，d2l_ext要用Python {oldest}或更新的。"
    "请在平台上换一个较新的环境。",
    "2.5": "注意：飞桨{paddle}缺少这些notebook要用的几项功能，已在这个内核里补上，"
    "装好的飞桨没有改动。",
    "old paddle": "注意：飞桨{paddle}太旧，试过的最旧的版本是2.5.2。",
    "old matplotlib": "注意：matplotlib {matplotlib}比3.5旧，在刻度上写词的图会出错，"
    "例如10.4里的。",
    "new": "注意：{name} {version}比试过的新，试过的最新是{newest}。",
    "nightly": "注意：这里的飞桨（{paddle}）不是正式版，没有试过；试过的是2.5到3.3。",
    "optional": "注意：这个notebook还要用{names}，这里没有；不装也可以阅读保存的输出。",
}
EN = {
    "and": ", ",
    "ready": "Ready: {where}, Python {python}, Paddle {paddle} ({device}), "
    "NumPy {numpy}, matplotlib {matplotlib}; d2l {d2l} and d2l_ext {d2l_ext} from "
    "{folder}; {installed}.",
    "machine": "this machine",
    "no gpu": "CPU; this Paddle is for a GPU, but found none that it can use",
    "nothing": "nothing was installed",
    "installed": "installed {names}",
    "installing": "{names} missing: installing with pip. On a slow network this takes "
    "some minutes.",
    "failed": "{names} missing, and pip could not install it: {why}. Without a network "
    "it cannot: connect and run this cell again, or install {names} in the platform's "
    "own way, then restart the kernel.",
    "broken": "Importing {name} failed: {why}. See the platform's pages to make "
    "`import {name}` work, then restart the kernel.",
    "too old": "Importing d2l_ext failed: {why}. Here are Paddle {paddle} and NumPy "
    "{numpy}; d2l_ext needs Paddle {oldest_paddle} and NumPy {oldest_numpy} or later. "
    "Choose a newer environment on the platform.",
    "loaded": "The kernel has imported another {name} ({where}). Restart the kernel "
    "and run this cell first.",
    "old python": "This is Python {python}, and d2l_ext needs {oldest} or later. "
    "Choose a newer environment on the platform.",
    "2.5": "Note: Paddle {paddle} lacks a few things that these notebooks use. This "
    "kernel has them now; the installed Paddle is unchanged.",
    "old paddle": "Note: Paddle {paddle} is too old: the oldest tried is 2.5.2.",
    "old matplotlib": "Note: matplotlib {matplotlib} is older than 3.5: figures with "
    "words at their ticks fail, for example in 10.4.",
    "new": "Note: {name} {version} is newer than what was tried, up to {newest}.",
    "nightly": "Note: this Paddle ({paddle}) is not a release, and was not tried; 2.5 "
    "to 3.3 were.",
    "optional": "Note: this notebook also needs {names}, which is not here; its stored "
    "outputs can be read without.",
}
TEXTS = {"zh": ZH, "en": EN}


class Problem(Exception):
    """What the student can put right; the text says how."""


def start(language, also=()):
    """Make d2l and d2l_ext importable, and print what there is.

    Args:
        language: of what is printed, one of TEXTS.
        also: modules that this one notebook needs besides; only named where missing.

    Raises:
        Problem: something has to be done first.
    """
    say = TEXTS[language]
    if sys.version_info < OLDEST:
        python, oldest = dotted(sys.version_info[:3]), dotted(OLDEST)
        raise Problem(say["old python"].format(python=python, oldest=oldest))
    use_packages(say)
    installed = install_missing(say)
    paddle = import_paddle(say)
    facts = versions(paddle, say)
    if not is_release(facts["paddle"]):
        print(say["nightly"].format(**facts))
    elif numbers(facts["paddle"]) < OLDEST_PADDLE:
        print(say["old paddle"].format(**facts))
    elif numbers(facts["paddle"])[:2] == [2, 5]:
        print(say["2.5"].format(**facts))
    if numbers(facts["matplotlib"]) < OLDEST_MATPLOTLIB:
        print(say["old matplotlib"].format(**facts))
    for name, newest in NEWEST.items():
        version = facts[name.lower()]
        if numbers(version)[:2] > numbers(newest):
            print(say["new"].format(name=name, version=version, newest=newest))
    absent = [NAMES.get(m, m) for m in also if importlib.util.find_spec(m) is None]
    if absent:
        print(say["optional"].format(names=say["and"].join(absent)))
    names = say["and"].join(installed)
    done = say["installed"].format(names=names) if names else say["nothing"]
    where, on = platform() or say["machine"], device(paddle, say)
    facts.update(where=where, device=on, installed=done, folder=PACKAGES)
    print(say["ready"].format(**facts))


def use_packages(say):
    """Put what came along before whatever is installed under the same names."""
    paths = [str(PACKAGES), *map(str, sorted(PACKAGES.glob("*.whl")))]
    for name in OURS:
        loaded = place(sys.modules.get(name))
        if loaded and not loaded.startswith(str(PACKAGES) + os.sep):
            raise Problem(say["loaded"].format(name=name, where=loaded))
    sys.path[:] = paths + [path for path in sys.path if path not in paths]
    importlib.invalidate_caches()


def place(module):
    """Where it was imported from; a folder without an __init__.py has no file."""
    paths = getattr(module, "__path__", [])
    return getattr(module, "__file__", None) or next(iter(paths), None)


def install_missing(say):
    """Install what is missing altogether, and return its names for pip."""
    needed = dict(NEEDED)
    if importlib.util.find_spec("paddle") is None:
        needed.update(PADDLE)
    missing = [n for m, n in needed.items() if importlib.util.find_spec(m) is None]
    if not missing:
        return []
    names = say["and"].join(re.split("[<>]", need)[0] for need in missing)
    print(say["installing"].format(names=names), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        fixed = Path(folder, "fixed.txt")
        fixed.write_text("\n".join(installed_versions()), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
        pip += ["--no-input", "--retries", "2", "--timeout", "60"]
        # Nothing is compiled: pip would try on and on, with older and older releases.
        pip += ["--only-binary", ":all:", "--constraint", str(fixed), *missing]
        # Every kernel sets it, and pip would colour what is read here.
        env = {k: v for k, v in os.environ.items() if k != "FORCE_COLOR"}
        done = subprocess.run(
            pip, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        why = last_error(done.stdout.decode("utf-8", "replace"))
        raise Problem(say["failed"].format(names=names, why=why))
    if site.ENABLE_USER_SITE:  # where pip installs if the platform's folder is locked
        site.addsitedir(site.getusersitepackages())
    importlib.invalidate_caches()
    return names.split(say["and"])


def installed_versions():
    """A line for each installed package that holds it to its version.

    A package may be there twice, as in a folder of the user's: the first is imported.
    """
    found = {}
    for package in metadata.distributions():
        name, version = package.metadata["Name"], package.version
        plain = isinstance(name, str) and re.match(r"[\w.-]+$", name)
        if plain and re.match(r"\d[\w.+!]*$", version or ""):
            known_as = re.sub("[-_.]+", "-", name).lower()
            found.setdefault(known_as, f"{name}=={version}")
    return found.values()


def last_error(output):
    """Why pip failed: packages that do not go together, else its last error."""
    conflict = re.search(r"conflict is caused by:\n((?: +.*\n)+)", output)
    if conflict:
        return "; ".join(line.strip() for line in conflict[1].splitlines())
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    text = (errors or lines or ["?"])[-1]
    return re.sub("^ERROR: *", "", text).rstrip(".。")


def import_paddle(say):
    """By way of d2l_ext, which keeps Paddle's noise away and knows what hides it."""
    try:
        importlib.import_module("d2l_ext")
    except Exception as error:  # whatever a broken library raises
        raise Problem(why_not(say, error)) from error
    paddle = sys.modules["paddle"]
    if numbers(paddle.__version__)[:2] == [2, 5] or is_nightly_of_2_5(paddle):
        importlib.import_module("bundle_paddle_2_5").bring_up(paddle)
    return paddle


def why_not(say, error):
    """What keeps d2l_ext from being imported, where that is not Paddle itself."""
    why = reason(error)
    versions = ("paddle", "numpy")
    facts = {n: getattr(sys.modules.get(n), "__version__", "") for n in versions}
    old = is_release(facts["paddle"]) and numbers(facts["paddle"]) < OLDEST_PADDLE
    if facts["paddle"] and (old or numbers(facts["numpy"]) < OLDEST_NUMPY):
        oldest = {"oldest_paddle": dotted(OLDEST_PADDLE)}
        oldest["oldest_numpy"] = dotted(OLDEST_NUMPY)
        return say["too old"].format(why=why, **facts, **oldest)
    name = "d2l_ext" if facts["paddle"] else "paddle"
    return say["broken"].format(name=name, why=why)


def reason(error):
    """In a sentence that goes on: without its full stop."""
    return f"{type(error).__name__}: {error}".rstrip(".。")


def is_release(version):
    """Nightly builds of Paddle, and those made from source, are all 0.0.0."""
    return any(numbers(version)[:2])


def is_nightly_of_2_5(paddle):
    old_name = hasattr(paddle, "fluid") and not hasattr(paddle, "base")
    return not is_release(paddle.__version__) and old_name


def versions(paddle, say):
    """What there is; and whether it can be imported, as the next cells will have to."""
    found = {}
    for name in (*OURS, *NEEDED):
        try:
            found[name] = importlib.import_module(name)
        except Exception as error:
            why = reason(error)
            raise Problem(say["broken"].format(name=name, why=why)) from error
    shown = *OURS, "numpy", "matplotlib"
    facts = {name: found[name].__version__ for name in shown}
    python = dotted(sys.version_info[:3])
    return dict(facts, python=python, paddle=paddle.__version__)


def device(paddle, say):
    name = paddle.device.get_device()
    if name == "cpu":
        return say["no gpu"] if paddle.is_compiled_with_cuda() else "CPU"
    return name.upper()


def platform():
    """The name of a platform that students know, or None."""
    if os.path.isdir("/home/aistudio"):
        return "AI Studio"
    if "KAGGLE_KERNEL_RUN_TYPE" in os.environ:
        return "Kaggle"
    return "Colab" if "COLAB_RELEASE_TAG" in os.environ else None


def dotted(version):
    return ".".join(map(str, version))


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)[:3]]
