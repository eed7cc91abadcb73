"""Programs that leave a mark outside of their process, each by one way; nothing but the mark is done.

`MARK` stands for a path that does not exist, `SOURCE` for a file, `NAME` for a name of shared memory, `PORT` for one
where somebody listens.
"""

from __future__ import annotations

FREE = "__builtins__.update(print.__self__.__dict__)\n"
"""Every function of Python's own leads to the module of the builtins."""

FILES = {
    "open": "open('MARK', 'w')",
    "io-fileio": "import io\nio.FileIO('MARK', 'w')",
    "os-open": "import os\nos.open('MARK', os.O_CREAT | os.O_WRONLY)",
    "mkdir": "import os\nos.mkdir('MARK')",
    "makedirs": "import os\nos.makedirs('MARK')",
    "mkfifo": "import os\nos.mkfifo('MARK')",
    "mkfifo-of-posix": "import posix\nposix.mkfifo('MARK')",
    "mkfifo-of-a-function": "import os\nos.stat.__self__.mkfifo('MARK')",
    "mkfifo-of-torch": "import torch\ntorch.os.mkfifo('MARK')",
    "mkfifo-of-a-set": "import os\n[f('MARK') for f in os.supports_dir_fd if f.__name__ == 'mkfifo'][0]",
    "mkfifo-of-a-new-module": (
        "import sys, importlib.machinery as m\nspec = m.ModuleSpec('posix', m.BuiltinImporter, origin='built-in')\n"
        "made = sys.modules['_imp'].create_builtin(spec)\nsys.modules['_imp'].exec_builtin(made)\nmade.mkfifo('MARK')"
    ),
    "mkfifo-of-a-reload": (
        "import sys, importlib\nfor name in ('posix', 'os'):\n    sys.modules.pop(name)\n"
        "importlib._bootstrap._load(importlib._bootstrap.BuiltinImporter.find_spec('posix')).mkfifo('MARK')"
    ),
    "mknod": "import os\nos.mknod('MARK')",
    "mknod-of-a-fifo": "import os, stat\nos.mknod('MARK', stat.S_IFIFO | 0o600)",
    "symlink": "import os\nos.symlink('/', 'MARK')",
    "link": "import os, torch\nos.link(torch.__file__, 'MARK')",
    "rename": "import os\nos.rename('SOURCE', 'MARK')",
    "pathlib-touch": "import pathlib\npathlib.Path('MARK').touch()",
    "tempfile": "import tempfile, os\ntempfile.mkdtemp(prefix=os.path.basename('MARK'), dir=os.path.dirname('MARK'))",
    "shutil": "import shutil, torch\nshutil.copyfile(torch.__file__, 'MARK')",
    "sqlite": "import sqlite3\nsqlite3.connect('MARK').execute('create table t (x)')",
    "dbm": "import dbm\ndbm.open('MARK', 'c')",
    "dbm-dumb": "import dbm.dumb\ndbm.dumb.open('MARK', 'c').sync()",
    "readline": "import readline\nreadline.write_history_file('MARK')",
    "keylog": "import ssl\nssl.create_default_context().keylog_filename = 'MARK'",
    "socket-of-a-path": "import socket\nsocket.socket(socket.AF_UNIX).bind('MARK')",
    "faulthandler": "import faulthandler\nfaulthandler.enable(open('MARK', 'w'))",
    "logging": "import logging\nlogging.FileHandler('MARK')",
    "zipfile": "import zipfile\nzipfile.ZipFile('MARK', 'w').close()",
    "numpy-save": "import numpy as np\nnp.save(open('MARK', 'wb'), np.ones(3))",
    "numpy-tofile": "import numpy as np\nnp.ones(3).tofile('MARK')",
    "numpy-memmap": "import numpy as np\nnp.memmap('MARK', mode='w+', shape=3)",
    "ctypes-mkdir": "import ctypes\nctypes.CDLL(None).mkdir(b'MARK', 0o700)",
    "ctypes-by-address": (
        "import ctypes\nlibc = ctypes.CDLL(None)\naddress = ctypes.cast(libc.mkdir, ctypes.c_void_p).value\n"
        "ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int)(address)(b'MARK', 0o700)"
    ),
    "torch-save": "import torch\ntorch.save(torch.ones(3), 'MARK')",
    "torch-save-old": "import torch\ntorch.save(torch.ones(3), 'MARK', _use_new_zipfile_serialization=False)",
    "torch-writer": "import torch\ntorch._C.PyTorchFileWriter('MARK')",
    "torch-writer-of-a-walk": (
        "import torch\ndef under(kind):\n    for sub in type.__subclasses__(kind):\n        yield sub\n"
        "        yield from under(sub)\n"
        "[kind for kind in under(object) if kind.__name__ == 'PyTorchFileWriter'][0]('MARK')"
    ),
    "torch-from-file": "import torch\ntorch.from_file('MARK', shared=True, size=3)",
    "torch-op-from-file": "import torch\ntorch.ops.aten.from_file('MARK', True, 3)",
    "torch-op-from-file-of-a-closure": (
        "import torch\nfind = torch._C._jit_get_operation\n"
        "cells = [cell.cell_contents for cell in getattr(find, '__closure__', ())]\n"
        "senders = [one for one in cells if hasattr(one, '__self__')]\n"
        "found = senders[0](('aten::from_file',))[0] if senders else find('aten::from_file')\nfound[0]('MARK', True, 3)"
    ),
    "torch-op-from-file-boxed": (
        "import torch\nhandle = torch._C._dispatch_find_schema_or_throw('aten::from_file', '')\n"
        "torch._C._dispatch_call_boxed(handle, 'MARK', True, 3)"
    ),
    "torch-storage-from-file": "import torch\ntorch.UntypedStorage.from_file('MARK', True, 16)",
    "torch-jit-save": ("import torch\ntorch.jit.trace(torch.nn.Linear(2, 2), torch.ones(2)).save('MARK')"),
    "torch-script-saves": (
        "import torch\nunit = torch.jit.CompilationUnit('def f(x):\\n    torch.save(x, \\'MARK\\')\\n')\n"
        "unit.f(torch.ones(2))"
    ),
    "torch-profiler": (
        "import torch\nwith torch.profiler.profile() as p:\n    torch.ones(2).sum()\np.export_chrome_trace('MARK')"
    ),
    "torch-observer": (
        "import torch\nc = torch._C._profiler\nc._add_execution_trace_observer('MARK')\n"
        "c._enable_execution_trace_observer()\nc._disable_execution_trace_observer()\nc._remove_execution_trace_observer()"
    ),
    "torch-file-store": ("import torch\nstore = torch._C._distributed_c10d.FileStore('MARK', 1)\nstore.set('a', 'b')"),
    "torch-package": "import torch.package\ntorch.package.PackageExporter('MARK').close()",
}
"""Ways to make something at a path."""

PROCESSES = {
    "system": "import os\nos.system('/bin/mkdir MARK')",
    "popen": "import subprocess\nsubprocess.run(['/bin/mkdir', 'MARK'])",
    "fork-exec": (
        "import _posixsubprocess as p, os\nr, w = os.pipe()\n"
        "p.fork_exec([b'/bin/mkdir', b'MARK'], [b'/bin/mkdir'], True, (w,), None, None, -1, -1, -1, -1, -1, -1, r, w, "
        "False, False, -1, None, None, None, -1, None, False)\nos.wait()"
    ),
    "posix-spawn": "import os\nos.posix_spawn('/bin/mkdir', ['mkdir', 'MARK'], {})\nos.wait()",
    "fork": "import os\nif os.fork() == 0:\n    os.execv('/bin/mkdir', ['mkdir', 'MARK'])\nos.wait()",
    "pty": "import pty\npty.spawn(['/bin/mkdir', 'MARK'])",
    "multiprocessing": (
        "import multiprocessing, os\ndef f():\n    os.mkdir('MARK')\n"
        "made = multiprocessing.get_context('fork').Process(target=f)\nmade.start()\nmade.join()"
    ),
    "ctypes-system": "import ctypes\nctypes.CDLL(None).system(b'/bin/mkdir MARK')",
}
"""Ways to have another process make it."""

SHARED = {
    "shared-memory": "from multiprocessing.shared_memory import SharedMemory\nSharedMemory('NAME', True, 16)",
    "shm-open": "import _posixshmem, os\n_posixshmem.shm_open('/NAME', os.O_CREAT | os.O_RDWR, 0o600)",
    "semaphore": "import _multiprocessing\n_multiprocessing.SemLock(1, 1, 1, '/NAME', False)",
    "semaphore-of-a-walk": (
        "[kind for kind in object.__subclasses__() if kind.__name__ == 'SemLock'][0](1, 1, 1, '/NAME', False)"
    ),
}
"""Ways to make an object in shared memory."""

NETWORK = {
    "connect": "import socket\nsocket.create_connection(('127.0.0.1', PORT))",
    "connect-of-native": "import _socket\n_socket.socket().connect(('127.0.0.1', PORT))",
    "url": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:PORT', timeout=0.2)",
    "asyncio": "import asyncio\nasyncio.run(asyncio.open_connection('127.0.0.1', PORT))",
    "torch-tcp-store": (
        "import torch, datetime\n"
        "torch._C._distributed_c10d.TCPStore('127.0.0.1', PORT, 1, False, datetime.timedelta(milliseconds=200))"
    ),
}
"""Ways to reach somebody who listens."""
