"""What stays of the modules and classes that are written in C, in a process that computes.

The names are those of CPython 3.10 to 3.14 and of torch 2.2 to 2.13; who does not have one does not miss it.
"""

from __future__ import annotations

import re


def _words(text: str, package: str = "") -> frozenset[str]:
    return frozenset(package + word for word in text.split())


COMPUTING = _words(
    """
    _abc _asyncio _ast _bisect _blake2 _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr
    _codecs_tw _collections _contextvars _csv _datetime _decimal _elementtree _functools _hashlib _heapq _hmac _imp
    _io _json _locale _lsprof _lzma _md5 _multibytecodec _opcode _operator _pickle _queue _random _sha1 _sha2
    _sha256 _sha3 _sha512 _sre _stat _statistics _string _struct _suggestions _symtable _sysconfig _thread _tokenize
    _tracemalloc _types _typing _uuid _warnings _weakref _zoneinfo array atexit binascii builtins cmath decimal
    errno gc itertools marshal math pyexpat sys time unicodedata zlib _zstd
    """
)
"""Modules that compute, and those whose effects all cause an audit event (`_io`, `marshal`, `gc`)."""

_OS = """
    DirEntry WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WSTOPSIG WTERMSIG access cpu_count
    device_encoding fspath fstat get_terminal_size getcwd getcwdb getegid geteuid getgid getpid getppid getuid isatty
    listdir lstat major makedev minor process_cpu_count readlink sched_getaffinity scandir stat strerror sysconf times
    uname urandom waitstatus_to_exitcode
    _check_methods _create_environ_mapping _exists _fspath _get_exports_list _path_exists _path_isdir _path_isfile
    _path_isjunction _path_isdevdrive _path_islink _path_lexists _path_normpath _path_normpath_ex _path_splitroot
    _path_splitroot_ex _getfullpathname _getfinalpathname _findfirstfile _isdir _supports_virtual_terminal
    _walk fsdecode fsencode get_exec_path getenv getenvb walk
"""

KEPT = {name: _words(_OS) for name in ("os", "posix", "nt")} | {
    "ctypes": frozenset(),
    "_ctypes": frozenset(),
}
"""Functions that stay in modules which do more than compute; their classes stay, except those in `MADE`."""

REFUSED = _words(
    """
    _imp.create_builtin _imp.exec_builtin _thread.interrupt_main _thread.start_joinable_thread _thread.start_new
    _thread.start_new_thread sys.activate_stack_trampoline
    """
)
"""Functions that do not stay in modules which compute otherwise."""

MADE = frozenset({"_ctypes.CFuncPtr", "_ctypes._Pointer"})
"""Classes of the modules in `KEPT` that reach functions and memory by address, and so may have no new instances."""

TORCH_MODULES = _words(
    """
    _aoti _distributed_autograd _distributed_c10d _distributed_rpc _export _instruction_counter _jit_tree_views
    _nativert _te
    """,
    "torch._C.",
)
"""Modules of torch that reach files, the network, other processes, or machine code, and do not compute."""

TORCH_FUNCTIONS = re.compile(
    r"torch\._C\.(?:\w*(?:save|(?<!over)load|import|export|mobile|pickle|gds_|crash|signal|custom_class)\w*"
    r"|_jit_(?:script|pass|trace|to|run|interpret|set_logging|set_onnx|set_fusion|onnx)_\w*|_jit_onnx_log|parse_ir"
    r"|_create_\w*|_dispatch_call_boxed|_logging_\w*|_(?:rpc|faulty_agent|c10d|dist_autograd)_init|_initExtension|_valgrind_\w*"
    r"|_autograd\._(?:en|dis)able_profiler\w*|_autograd\._prepare_profiler|_profiler\._\w*execution_trace\w*)"
)
"""Functions of torch that read or write files, compile, or start what does, by their full names."""

TORCH_CLASSES = _words(
    """
    CompilationUnit ConcreteModuleTypeBuilder DeserializationStorageContext Graph LiteScriptModule PyTorchFileReader
    PyTorchFileWriter ScriptModule ScriptModuleSerializer SerializationStorageContext StaticModule ThroughputBenchmark
    """,
    "torch._C.",
)
"""Classes of torch with such effects, beside those of the modules above: they may have no new instances."""

STORAGE_METHODS = _words(
    """
    _expired _fix_weakref _free_weak_ref _get_filename _get_shared_fd _new_shared_cuda _new_shared_fd_cpu
    _new_shared_filename_cpu _new_using_fd_cpu _new_using_filename_cpu _new_with_file _new_with_weak_ptr
    _release_ipc_counter_cuda _resize_with_addr_ _set_cdata _set_from_file _share_cuda_ _share_fd_cpu_
    _share_filename_cpu_ _shared_decref _shared_incref _swap_data_ptr_ _weak_ref _write_file from_file
    """
)
"""Methods of torch's storages that reach files, shared memory, and memory by address."""

TORCH_OPERATORS = frozenset({"aten::from_file", "aten::save", "prim::rpc_async", "prim::rpc_remote", "prim::rpc_sync"})
"""Operators with effects, which TorchScript and `torch.ops` know by name."""
