# 运行一次：找到随这些notebook一起发的d2l和d2l_ext，并说出这里的环境
# 已有的包一个也不动，平台自带的飞桨也不动；最后一行是结果
import os
import sys
import tempfile
import zipfile
from pathlib import Path

told = [os.environ.get(name) for name in ('D2L_BUNDLE', 'JPY_SESSION_NAME')]
near = [Path(path).absolute() for path in told if path] + [Path.cwd()]
spots = [(folder, 0) for path in near for folder in [path, *path.parents]]
spots += [(Path.cwd(), depth) for depth in (1, 2)]
spots += [(Path(folder), depth) for depth in range(5)
          for folder in ('/home/aistudio', '/kaggle/input', '/content')]
names = 'packages/bundle_start.py', 'aistudio*.zip'  # 也找aistudio (1).zip
start = next((path for folder, depth in spots for name in names
              for path in folder.glob('*/' * depth + name)), None)
if start is None:
    raise FileNotFoundError('没有找到packages文件夹，也没有找到aistudio.zip：请把'
                            '其中一个与这个notebook放在同一个文件夹里，再运行一次')
if 'bundle_start' not in sys.modules:
    if start.suffix == '.zip':
        folder = Path(tempfile.mkdtemp())
        try:
            zipfile.ZipFile(start).extractall(folder)
        except zipfile.BadZipFile:
            raise OSError(f'{start}不完整：请等它上传完，或重新上传，'
                          '再运行一次') from None
        start = next(folder.glob('*/packages/bundle_start.py'))
    sys.path.insert(0, str(start.parent))
import bundle_start

bundle_start.start('zh')
