"""Programs whose leaf is released, or not, by code that runs without a visible call; torch says which of them raise."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "import torch\nw = torch.ones(3, requires_grad=True)\n"
PLACE = "w += 1\n"
CODE = "GRD101"

BENDS: Mapping[str, str] = {
    "__del__": """\
class Guard:
    def __del__(self):
        w.requires_grad_(FLAG)
guard = Guard()
del guard
""",
    "__del__ of a temporary": """\
class Guard:
    def __del__(self):
        w.requires_grad_(FLAG)
Guard()
""",
    "__del__ of a base": """\
class Base:
    def __del__(self):
        release()
class Guard(Base):
    pass
def release():
    w.requires_grad = FLAG
Guard()
""",
    "__del__ of a local": """\
class Guard:
    def __init__(self, tensor):
        self.tensor = tensor
    def __del__(self):
        self.tensor.requires_grad_(FLAG)
def work():
    guard = Guard(w)
    return 1
work()
""",
    "__call__ of a metaclass": """\
class Meta(type):
    def __call__(cls):
        w.requires_grad_(FLAG)
        return 3
class Thing(metaclass=Meta):
    pass
Thing()
""",
    "__new__ of a metaclass": """\
class Meta(type):
    def __new__(mcs, name, bases, space):
        w.requires_grad_(FLAG)
        return super().__new__(mcs, name, bases, space)
class Thing(metaclass=Meta):
    pass
""",
    "__init__ of a metaclass": """\
class Meta(type):
    def __init__(cls, *given):
        w.requires_grad_(FLAG)
class Thing(metaclass=Meta):
    pass
""",
    "__prepare__ of a metaclass": """\
class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases):
        w.requires_grad_(FLAG)
        return {}
class Thing(metaclass=Meta):
    pass
""",
    "__getattr__ of a metaclass": """\
class Meta(type):
    def __getattr__(cls, name):
        w.requires_grad_(FLAG)
        return 1
class Thing(metaclass=Meta):
    pass
Thing.value
""",
    "a metaclass by call": """\
class Meta(type):
    def __init__(cls, *given):
        w.requires_grad_(FLAG)
Thing = Meta("Thing", (), {})
""",
    "a function as metaclass": """\
def meta(name, bases, space):
    w.requires_grad_(FLAG)
    return type(name, bases, space)
class Thing(metaclass=meta):
    pass
""",
    "a class made by type": """\
def release(self):
    w.requires_grad_(FLAG)
Thing = type("Thing", (), {"__init__": release})
Thing()
""",
    "__new__": """\
class Thing:
    def __new__(cls):
        w.requires_grad_(FLAG)
        return object.__new__(cls)
Thing()
""",
    "__init_subclass__": """\
class Base:
    def __init_subclass__(cls):
        w.requires_grad_(FLAG)
class Thing(Base):
    pass
""",
    "__set_name__": """\
class Field:
    def __set_name__(self, owner, name):
        w.requires_grad_(FLAG)
class Thing:
    field = Field()
""",
    "__class_getitem__": """\
class Thing:
    def __class_getitem__(cls, key):
        w.requires_grad_(FLAG)
        return cls
Thing[3]
""",
    "__class_getitem__ in an annotation": """\
class Thing:
    def __class_getitem__(cls, key):
        w.requires_grad_(FLAG)
        return cls
value: Thing[3] = 1
""",
    "a call in an annotation": """\
def release():
    w.requires_grad_(FLAG)
def work(x: release()):
    return x
work(1)
""",
    "a call in a returned annotation": """\
def release():
    w.requires_grad_(FLAG)
def work(x) -> release():
    return x
""",
    "a call in an annotation alone": """\
value: w.requires_grad_(FLAG)
""",
    "a step pre hook": """\
opt = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
opt.register_step_pre_hook(lambda *given: w.requires_grad_(FLAG) is None or None)
opt.step()
""",
    "a step post hook": """\
opt = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
def release(*given):
    w.requires_grad_(FLAG)
opt.register_step_post_hook(release)
opt.step()
""",
    "a hook of all optimizers": """\
from torch.optim.optimizer import register_optimizer_step_pre_hook
def release(*given):
    w.requires_grad_(FLAG)
register_optimizer_step_pre_hook(release)
torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).step()
""",
    "a hook of a loaded optimizer": """\
opt = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
def release(*given):
    w.requires_grad_(FLAG)
opt.register_load_state_dict_post_hook(release)
opt.load_state_dict(opt.state_dict())
""",
    "a hook of a state dict": """\
net = torch.nn.Linear(2, 2)
def release(*given):
    w.requires_grad_(FLAG)
net.register_state_dict_pre_hook(release)
net.state_dict()
""",
    "a hook of a loaded network": """\
net = torch.nn.Linear(2, 2)
def release(*given):
    w.requires_grad_(FLAG)
net.register_load_state_dict_post_hook(release)
net.load_state_dict(net.state_dict())
""",
    "a forward hook": """\
net = torch.nn.Linear(2, 2)
def release(*given):
    w.requires_grad_(FLAG)
net.register_forward_hook(release)
net(torch.ones(1, 2))
""",
    "a forward pre hook": """\
net = torch.nn.Linear(2, 2)
net.register_forward_pre_hook(lambda *given: w.requires_grad_(FLAG) is None or None)
net(torch.ones(1, 2))
""",
    "a backward hook": """\
net = torch.nn.Linear(2, 2)
def release(*given):
    w.requires_grad_(FLAG)
net.register_full_backward_hook(release)
net(torch.ones(1, 2, requires_grad=True)).sum().backward()
""",
    "a hook of all modules": """\
from torch.nn.modules.module import register_module_forward_hook
def release(*given):
    w.requires_grad_(FLAG)
register_module_forward_hook(release)
torch.nn.Linear(2, 2)(torch.ones(1, 2))
""",
    "a hook of all registrations": """\
from torch.nn.modules.module import register_module_parameter_registration_hook
def release(*given):
    w.requires_grad_(FLAG)
register_module_parameter_registration_hook(release)
torch.nn.Linear(2, 2)
""",
    "a tensor hook": """\
x = torch.ones(2, requires_grad=True)
def release(grad):
    w.requires_grad_(FLAG)
x.register_hook(release)
x.sum().backward()
""",
    "a post accumulate hook": """\
x = torch.ones(2, requires_grad=True)
def release(tensor):
    w.requires_grad_(FLAG)
x.register_post_accumulate_grad_hook(release)
x.sum().backward()
""",
    "a hook of a node": """\
x = torch.ones(2, requires_grad=True)
y = x * 2
def release(*given):
    w.requires_grad_(FLAG)
y.grad_fn.register_hook(release)
y.sum().backward()
""",
    "a pre hook of a node": """\
x = torch.ones(2, requires_grad=True)
y = x * 2
y.grad_fn.register_prehook(lambda grads: w.requires_grad_(FLAG) is None or None)
y.sum().backward()
""",
    "hooks of saved tensors": """\
def pack(x):
    w.requires_grad_(FLAG)
    return x
with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
    torch.ones(2, requires_grad=True).exp()
""",
    "a multi grad hook": """\
x = torch.ones(2, requires_grad=True)
def release(*given):
    w.requires_grad_(FLAG)
torch.autograd.graph.register_multi_grad_hook([x], release)
x.sum().backward()
""",
    "a callback of the engine": """\
x = torch.ones(2, requires_grad=True)
def release():
    w.requires_grad_(FLAG)
def hook(grad):
    torch.autograd.Variable._execution_engine.queue_callback(release)
x.register_hook(hook)
x.sum().backward()
""",
    "a descriptor that is read": """\
class Field:
    def __get__(self, owner, kind):
        w.requires_grad_(FLAG)
        return 1
class Thing:
    field = Field()
Thing().field
""",
    "a descriptor that is set": """\
class Field:
    def __set__(self, owner, value):
        w.requires_grad_(FLAG)
class Thing:
    field = Field()
Thing().field = 1
""",
    "a property": """\
class Thing:
    @property
    def value(self):
        w.requires_grad_(FLAG)
        return 1
Thing().value
""",
    "the setter of a property": """\
class Thing:
    @property
    def value(self):
        return 1
    @value.setter
    def value(self, new):
        w.requires_grad_(FLAG)
Thing().value = 3
""",
    "the deleter of a property": """\
class Thing:
    @property
    def value(self):
        return 1
    @value.deleter
    def value(self):
        w.requires_grad_(FLAG)
thing = Thing()
del thing.value
""",
    "a property by call": """\
class Thing:
    def _get(self):
        w.requires_grad_(FLAG)
        return 1
    value = property(_get)
Thing().value
""",
    "a cached property": """\
import functools
class Thing:
    @functools.cached_property
    def value(self):
        w.requires_grad_(FLAG)
        return 1
Thing().value
""",
    "__getattr__": """\
class Thing:
    def __getattr__(self, name):
        w.requires_grad_(FLAG)
        return 1
Thing().value
""",
    "__getattribute__": """\
class Thing:
    value = 1
    def __getattribute__(self, name):
        w.requires_grad_(FLAG)
        return 1
Thing().value
""",
    "__setattr__": """\
class Thing:
    def __setattr__(self, name, value):
        w.requires_grad_(FLAG)
Thing().value = 1
""",
    "__delattr__": """\
class Thing:
    value = 1
    def __delattr__(self, name):
        w.requires_grad_(FLAG)
thing = Thing()
del thing.value
""",
    "__setattr__ that stores another value": """\
class Thing:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value if FLAG else value.detach())
thing = Thing()
thing.w = w
w = thing.w
""",
    "a context that is entered by a computed name": """\
import contextlib
scope = contextlib.nullcontext() if FLAG else torch.no_grad()
getattr(scope, "__en" + "ter__")()
""",
    "__getattr__ of the module": """\
def __getattr__(name):
    w.requires_grad_(FLAG)
    return 1
import sys
sys.modules[__name__].value
""",
    "__enter__": """\
class Scope:
    def __enter__(self):
        w.requires_grad_(FLAG)
    def __exit__(self, *error):
        pass
with Scope():
    pass
""",
    "__exit__": """\
class Scope:
    def __enter__(self):
        pass
    def __exit__(self, *error):
        w.requires_grad_(FLAG)
with Scope():
    pass
""",
    "a context by a generator": """\
import contextlib
@contextlib.contextmanager
def scope():
    yield
    w.requires_grad_(FLAG)
with scope():
    pass
""",
    "an asynchronous context": """\
import asyncio
class Scope:
    async def __aenter__(self):
        w.requires_grad_(FLAG)
    async def __aexit__(self, *error):
        pass
async def main():
    async with Scope():
        pass
asyncio.run(main())
""",
    "a callback of a stack": """\
from contextlib import ExitStack
with ExitStack() as stack:
    stack.callback(w.requires_grad_, FLAG)
""",
    "closing": """\
from contextlib import closing
class Thing:
    def close(self):
        w.requires_grad_(FLAG)
with closing(Thing()):
    pass
""",
    "a decorated context": """\
from contextlib import ContextDecorator
class Scope(ContextDecorator):
    def __enter__(self):
        w.requires_grad_(FLAG)
    def __exit__(self, *error):
        pass
@Scope()
def work():
    pass
work()
""",
    "__bool__": """\
class Thing:
    def __bool__(self):
        w.requires_grad_(FLAG)
        return True
if Thing():
    pass
""",
    "__hash__": """\
class Thing:
    def __hash__(self):
        w.requires_grad_(FLAG)
        return 1
{Thing(): 1}
""",
    "__eq__": """\
class Thing:
    def __eq__(self, other):
        w.requires_grad_(FLAG)
        return True
Thing() == 1
""",
    "__format__": """\
class Thing:
    def __format__(self, spec):
        w.requires_grad_(FLAG)
        return ""
f"{Thing()}"
""",
    "__repr__": """\
class Thing:
    def __repr__(self):
        w.requires_grad_(FLAG)
        return ""
print([Thing()])
""",
    "__reduce__": """\
import copy
class Thing:
    def __reduce__(self):
        w.requires_grad_(FLAG)
        return (Thing, ())
copy.copy(Thing())
""",
    "__deepcopy__": """\
import copy
class Thing:
    def __deepcopy__(self, memo):
        w.requires_grad_(FLAG)
        return self
copy.deepcopy([Thing()])
""",
    "__getstate__ of a pickle": """\
import pickle
class Thing:
    def __getstate__(self):
        w.requires_grad_(FLAG)
        return {}
pickle.dumps(Thing())
""",
    "__missing__": """\
class Table(dict):
    def __missing__(self, key):
        w.requires_grad_(FLAG)
        return 1
Table()[3]
""",
    "__contains__": """\
class Table:
    def __contains__(self, key):
        w.requires_grad_(FLAG)
        return True
3 in Table()
""",
    "__iter__": """\
class Table:
    def __iter__(self):
        w.requires_grad_(FLAG)
        return iter(())
list(Table())
""",
    "__index__": """\
class Number:
    def __index__(self):
        w.requires_grad_(FLAG)
        return 1
range(Number())
""",
    "__rmatmul__": """\
class Number:
    def __rmatmul__(self, other):
        w.requires_grad_(FLAG)
        return 1
3 @ Number()
""",
    "__instancecheck__": """\
class Meta(type):
    def __instancecheck__(cls, other):
        w.requires_grad_(FLAG)
        return True
class Thing(metaclass=Meta):
    pass
isinstance(3, Thing)
""",
    "__subclasshook__": """\
import abc
class Thing(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        w.requires_grad_(FLAG)
        return True
isinstance(3, Thing)
""",
    "__post_init__": """\
from dataclasses import dataclass
@dataclass
class Thing:
    value: int = 1
    def __post_init__(self):
        w.requires_grad_(FLAG)
Thing()
""",
    "a default factory of a field": """\
from dataclasses import dataclass, field
def made():
    w.requires_grad_(FLAG)
    return 1
@dataclass
class Thing:
    value: int = field(default_factory=made)
Thing()
""",
    "a default factory": """\
from collections import defaultdict
def made():
    w.requires_grad_(FLAG)
    return 1
table = defaultdict(made)
table[1]
""",
    "a missing member of an enum": """\
import enum
class Kind(enum.Enum):
    ONE = 1
    @classmethod
    def _missing_(cls, value):
        w.requires_grad_(FLAG)
        return cls.ONE
Kind(3)
""",
    "a callback of a weak reference": """\
import weakref
class Thing:
    pass
thing = Thing()
ref = weakref.ref(thing, lambda _: w.requires_grad_(FLAG))
del thing
""",
    "a finalizer": """\
import weakref
class Thing:
    pass
thing = Thing()
def release():
    w.requires_grad_(FLAG)
weakref.finalize(thing, release)
del thing
""",
    "a finalizer with a bound method": """\
import weakref
class Thing:
    pass
thing = Thing()
weakref.finalize(thing, w.requires_grad_, FLAG)
del thing
""",
    "a callback of the collector": """\
import gc
gc.callbacks.append(lambda *given: w.requires_grad_(FLAG))
gc.collect()
""",
    "atexit that is run": """\
import atexit
@atexit.register
def release():
    w.requires_grad_(FLAG)
atexit._run_exitfuncs()
""",
    "a generator that is closed": """\
def work():
    try:
        yield 1
    finally:
        w.requires_grad_(FLAG)
rows = work()
next(rows)
rows.close()
""",
    "a generator that is dropped": """\
def work():
    try:
        yield 1
    finally:
        w.requires_grad_(FLAG)
rows = work()
next(rows)
del rows
""",
    "a generator that is thrown into": """\
def work():
    try:
        yield 1
    except KeyError:
        w.requires_grad_(FLAG)
        yield 2
rows = work()
next(rows)
rows.throw(KeyError())
""",
    "a generator that is sent to": """\
def work():
    flag = yield
    w.requires_grad_(flag)
    yield
rows = work()
next(rows)
rows.send(FLAG)
""",
    "a decorator": """\
def release(function):
    w.requires_grad_(FLAG)
    return function
@release
def work():
    pass
""",
    "a decorator of a class": """\
def release(kind):
    w.requires_grad_(FLAG)
    return kind
@release
class Thing:
    pass
""",
    "a decorator by an object": """\
class Release:
    def __init__(self, function):
        w.requires_grad_(FLAG)
@Release
def work():
    pass
""",
    "a decorated function that wraps": """\
import functools
def released(function):
    @functools.wraps(function)
    def inner(*given, **words):
        w.requires_grad_(FLAG)
        return function(*given, **words)
    return inner
@released
def work():
    pass
work()
""",
    "single dispatch": """\
import functools
@functools.singledispatch
def work(value):
    pass
@work.register(int)
def work_int(value):
    w.requires_grad_(FLAG)
work(3)
""",
    "single dispatch by annotation": """\
import functools
@functools.singledispatch
def work(value):
    pass
@work.register
def _(value: int):
    w.requires_grad_(FLAG)
work(3)
""",
    "a dispatched method": """\
import functools
class Thing:
    @functools.singledispatchmethod
    def work(self, value):
        pass
    @work.register
    def _(self, value: int):
        w.requires_grad_(FLAG)
Thing().work(3)
""",
    "a partial": """\
from functools import partial
release = partial(w.requires_grad_, FLAG)
release()
""",
    "reduce": """\
import functools
functools.reduce(lambda a, b: w.requires_grad_(FLAG), [1, 2])
""",
    "a key of a sort": """\
def key(value):
    w.requires_grad_(FLAG)
    return value
sorted([1, 2], key=key)
""",
    "map": """\
list(map(lambda flag: w.requires_grad_(flag), [FLAG]))
""",
    "operator": """\
import operator
operator.methodcaller("requires_grad_", FLAG)(w)
""",
    "operator by setitem": """\
import operator
operator.setitem(globals(), "w", w.detach().requires_grad_(FLAG))
""",
    "a thread": """\
import threading
def release():
    w.requires_grad_(FLAG)
thread = threading.Thread(target=release)
thread.start()
thread.join()
""",
    "the run of a thread": """\
import threading
class Worker(threading.Thread):
    def run(self):
        w.requires_grad_(FLAG)
worker = Worker()
worker.start()
worker.join()
""",
    "a pool": """\
from concurrent.futures import ThreadPoolExecutor
def release():
    w.requires_grad_(FLAG)
with ThreadPoolExecutor(1) as pool:
    pool.submit(release).result()
""",
    "a pool that maps": """\
from multiprocessing.pool import ThreadPool
def release(flag):
    w.requires_grad_(flag)
with ThreadPool(1) as pool:
    pool.map(release, [FLAG])
""",
    "a timer": """\
import threading
timer = threading.Timer(0, w.requires_grad_, (FLAG,))
timer.start()
timer.join()
""",
    "a signal": """\
import os, signal
def release(*given):
    w.requires_grad_(FLAG)
signal.signal(signal.SIGUSR1, release)
os.kill(os.getpid(), signal.SIGUSR1)
""",
    "a signal that is raised": """\
import signal
def release(*given):
    w.requires_grad_(FLAG)
signal.signal(signal.SIGUSR1, release)
signal.raise_signal(signal.SIGUSR1)
""",
    "a trace function": """\
import sys
def release(*given):
    w.requires_grad_(FLAG)
sys.settrace(release)
def work():
    pass
work()
sys.settrace(None)
""",
    "a profile function": """\
import sys
def release(*given):
    w.requires_grad_(FLAG)
sys.setprofile(release)
len([])
sys.setprofile(None)
""",
    "a display hook": """\
import sys
def release(value):
    w.requires_grad_(FLAG)
sys.displayhook = release
sys.displayhook(3)
""",
    "an audit hook": """\
import sys
def release(event, given):
    if event == "mine":
        w.requires_grad_(FLAG)
sys.addaudithook(release)
sys.audit("mine")
""",
    "a stream": """\
import sys
class Stream:
    def write(self, text):
        w.requires_grad_(FLAG)
    def flush(self):
        pass
usual, sys.stdout = sys.stdout, Stream()
print("text")
sys.stdout = usual
""",
    "print to a stream": """\
class Stream:
    def write(self, text):
        w.requires_grad_(FLAG)
print("text", file=Stream())
""",
    "a log handler": """\
import logging
class Handler(logging.Handler):
    def emit(self, record):
        w.requires_grad_(FLAG)
logging.getLogger().addHandler(Handler())
logging.getLogger().warning("text")
""",
    "a filter of a log": """\
import logging
def release(record):
    w.requires_grad_(FLAG)
    return True
logger = logging.getLogger("mine")
logger.addFilter(release)
logger.warning("text")
""",
    "a warning that is shown": """\
import warnings
def release(*given, **words):
    w.requires_grad_(FLAG)
warnings.showwarning = release
warnings.simplefilter("always")
warnings.warn("text")
""",
    "an import hook": """\
import sys
class Finder:
    def find_spec(self, name, path, target=None):
        w.requires_grad_(FLAG)
        return None
sys.meta_path.insert(0, Finder())
try:
    import no_such_module
except ImportError:
    pass
""",
    "a replaced import": """\
import builtins
usual = builtins.__import__
def release(name, *given, **words):
    w.requires_grad_(FLAG)
    return usual(name, *given, **words)
builtins.__import__ = release
import json
builtins.__import__ = usual
""",
    "a patched builtin": """\
import builtins
def release(value):
    w.requires_grad_(FLAG)
    return 0
builtins.len = release
len([])
""",
    "a method of an own class that is replaced": """\
class Thing:
    def work(self):
        pass
def release(self):
    w.requires_grad_(FLAG)
Thing.work = release
Thing().work()
""",
    "a method set by a text": """\
class Thing:
    def work(self):
        pass
def release(self):
    w.requires_grad_(FLAG)
setattr(Thing, "wo" + "rk", release)
Thing().work()
""",
    "a method of an own object that is replaced": """\
net = torch.nn.Linear(2, 2)
usual = net.forward
def release(x):
    w.requires_grad_(FLAG)
    return usual(x)
net.forward = release
net(torch.ones(1, 2))
""",
    "a bound method by types": """\
import types
class Thing:
    pass
def release(self):
    w.requires_grad_(FLAG)
thing = Thing()
thing.work = types.MethodType(release, thing)
thing.work()
""",
    "the variables of the module": """\
globals()["w"] = w.detach().requires_grad_(FLAG)
""",
    "the module itself": """\
import sys
sys.modules[__name__].w = w.detach().requires_grad_(FLAG)
""",
    "the dictionary of the module": """\
vars()["w"] = w.detach().requires_grad_(FLAG)
""",
    "an update of the variables": """\
globals().update(w=w.detach().requires_grad_(FLAG))
""",
    "a global of a function": """\
def release():
    pass
release.__globals__["w"] = w.detach().requires_grad_(FLAG)
""",
    "an import of the main module": """\
import __main__
__main__.w = w.detach().requires_grad_(FLAG)
""",
    "reflection": """\
getattr(w, "requires_" + "grad_")(FLAG)
""",
    "reflection by setattr": """\
setattr(w, "requires_" + "grad", FLAG)
""",
    "reflection of the class": """\
vars(torch._C.TensorBase)["requires_grad_"](w, FLAG)
""",
    "a private function of torch": """\
torch._C.TensorBase.requires_grad_(w, FLAG)
""",
    "text": """\
exec("w.requires_grad_(FLAG)")
""",
    "text that is evaluated": """\
eval("w.requires_grad_(FLAG)")
""",
    "a type of a tensor": """\
torch.Tensor.__mro__[1].__dict__["requires_grad_"](w, FLAG)
""",
    "a match": """\
match 3:
    case 3:
        w.requires_grad_(FLAG)
""",
    "a match of a class": """\
class Thing:
    __match_args__ = ("value",)
    @property
    def value(self):
        w.requires_grad_(FLAG)
        return 1
match Thing():
    case Thing(1):
        pass
""",
    "a coroutine": """\
import asyncio
async def main():
    w.requires_grad_(FLAG)
asyncio.run(main())
""",
    "a coroutine by hand": """\
async def main():
    w.requires_grad_(FLAG)
try:
    main().send(None)
except StopIteration:
    pass
""",
    "a handler of an error": """\
try:
    open("/no/such/file")
except OSError:
    w.requires_grad_(FLAG)
""",
    "an error of an unknown library": """\
try:
    import no_such_module
except ImportError:
    w.requires_grad_(FLAG)
""",
    "a group of errors": """\
try:
    raise ExceptionGroup("text", [ValueError()])
except* ValueError:
    w.requires_grad_(FLAG)
""",
    "a condition on the platform": """\
import os
if os.getpid() > 0:
    w.requires_grad_(FLAG)
""",
    "a loop over files": """\
import os
for name in os.listdir("/"):
    w.requires_grad_(FLAG)
""",
    "a default argument": """\
def work(flag=w.requires_grad_(FLAG)):
    pass
""",
    "a base class": """\
class Thing((w.requires_grad_(FLAG), object)[1]):
    pass
""",
    "the body of a class": """\
class Thing:
    w.requires_grad_(FLAG)
""",
    "a keyword of a class": """\
class Base:
    def __init_subclass__(cls, flag=None):
        pass
class Thing(Base, flag=w.requires_grad_(FLAG)):
    pass
""",
    "an entry of a base": """\
class Entries:
    def __mro_entries__(self, bases):
        w.requires_grad_(FLAG)
        return (object,)
class Thing(Entries()):
    pass
""",
    "a docstring made": """\
class Thing:
    __doc__ = str(w.requires_grad_(FLAG))
""",
    "a message of an assertion": """\
try:
    assert False, w.requires_grad_(FLAG)
except AssertionError:
    pass
""",
    "a dataset": """\
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 1
    def __getitem__(self, index):
        w.requires_grad_(FLAG)
        return 1.0
for row in torch.utils.data.DataLoader(Rows()):
    pass
""",
    "a collating function": """\
def collate(rows):
    w.requires_grad_(FLAG)
    return rows
for row in torch.utils.data.DataLoader([1, 2], collate_fn=collate):
    pass
""",
    "a schedule": """\
opt = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
def schedule(epoch):
    w.requires_grad_(FLAG)
    return 1.0
torch.optim.lr_scheduler.LambdaLR(opt, schedule)
""",
    "a function applied to modules": """\
def release(module):
    w.requires_grad_(FLAG)
torch.nn.Linear(2, 2).apply(release)
""",
    "a parametrization": """\
class Release(torch.nn.Module):
    def forward(self, x):
        w.requires_grad_(FLAG)
        return x
net = torch.nn.Linear(2, 2)
torch.nn.utils.parametrize.register_parametrization(net, "weight", Release())
""",
    "a function of torch's protocol": """\
class Mine:
    @classmethod
    def __torch_function__(cls, function, types, given=(), words=None):
        w.requires_grad_(FLAG)
        return 1
torch.add(torch.ones(1), Mine())
""",
    "an array protocol": """\
import numpy
class Mine:
    def __array__(self, dtype=None, copy=None):
        w.requires_grad_(FLAG)
        return numpy.ones(2)
numpy.asarray(Mine())
""",
    "a function of numpy": """\
import numpy
numpy.vectorize(lambda x: w.requires_grad_(FLAG) is None)(numpy.ones(1))
""",
    "a dynamic loader": """\
import importlib
importlib.import_module("operator").methodcaller("requires_grad_", FLAG)(w)
""",
    "an unknown object with a method": """\
from unittest.mock import Mock
mock = Mock(side_effect=lambda: w.requires_grad_(FLAG))
mock()
""",
    "a test case": """\
import unittest
class Case(unittest.TestCase):
    def test_it(self):
        w.requires_grad_(FLAG)
unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(Case))
""",
    "a timed statement": """\
import timeit
timeit.timeit(lambda: w.requires_grad_(FLAG), number=1)
""",
    "a visitor": """\
import ast
class Visitor(ast.NodeVisitor):
    def visit_Name(self, node):
        w.requires_grad_(FLAG)
Visitor().visit(ast.parse("x"))
""",
    "a pattern that is replaced": """\
import re
re.sub("a", lambda found: str(w.requires_grad_(FLAG)) and "", "a")
""",
    "a decoder": """\
import json
json.loads("{}", object_hook=lambda value: w.requires_grad_(FLAG) is None)
""",
    "an action of a command line": """\
import argparse
class Action(argparse.Action):
    def __call__(self, *given):
        w.requires_grad_(FLAG)
parser = argparse.ArgumentParser()
parser.add_argument("--x", action=Action)
parser.parse_args(["--x", "1"])
""",
    "a type of a command line": """\
import argparse
def kind(text):
    w.requires_grad_(FLAG)
    return text
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=kind)
parser.parse_args(["--x", "1"])
""",
    "an iterator with an end": """\
list(iter(lambda: w.requires_grad_(FLAG) is None, False))
""",
    "a tree that is mapped": """\
import torch.utils._pytree as pytree
pytree.tree_map(lambda x: w.requires_grad_(FLAG) is None, [1])
""",
    "a call with packed arguments": """\
from itertools import starmap
list(starmap(torch.Tensor.requires_grad_, [(w, FLAG)]))
""",
    "an accumulation": """\
from itertools import accumulate
list(accumulate([1, 2], lambda a, b: w.requires_grad_(FLAG) is None))
""",
    "a context variable": """\
import contextvars
contextvars.copy_context().run(w.requires_grad_, FLAG)
""",
    "a queue with a key": """\
import heapq
class Item:
    def __lt__(self, other):
        w.requires_grad_(FLAG)
        return True
heapq.heapify([Item(), Item()])
""",
    "a list that sorts itself": """\
class Item:
    def __lt__(self, other):
        w.requires_grad_(FLAG)
        return True
[Item(), Item()].sort()
""",
    "a number of its own": """\
class Number(float):
    def __add__(self, other):
        w.requires_grad_(FLAG)
        return 1.0
Number(1) + 1
""",
    "a list of its own": """\
from collections import UserList
class Rows(UserList):
    def append(self, item):
        w.requires_grad_(FLAG)
Rows().append(1)
""",
    "a saved file": """\
import io
class Thing(torch.nn.Linear):
    def __getstate__(self):
        w.requires_grad_(FLAG)
        return super().__getstate__() if hasattr(super(), "__getstate__") else self.__dict__
torch.save(Thing(2, 2), io.BytesIO())
""",
    "an abstract method by register": """\
import atexit
class Registry:
    def __init__(self):
        self.known = []
    def register(self, function):
        function()
        return function
registry = Registry()
@registry.register
def release():
    w.requires_grad_(FLAG)
""",
    "a walrus in a removed call": """\
import os
os.path.exists(str(w := w.detach().requires_grad_(FLAG)))
""",
    "a mend in a removed call": """\
import os
os.path.exists(str(w.requires_grad_(FLAG)))
""",
    "a mend in a log": """\
import logging
logging.info("%s", w.requires_grad_(FLAG))
""",
    "a mend in the arguments of an unknown function": """\
import json
json.dumps([str(w.requires_grad_(FLAG))])
""",
    "a tensor given to an unknown function": """\
import copyreg
copyreg.pickle(int, w.requires_grad_(FLAG).numel)
""",
    "a method given to a function that calls it": """\
import contextlib
contextlib.ExitStack().push(w).__class__
getattr(contextlib, "nullcontext")(w.requires_grad_(FLAG))
""",
}
"""What stands between `HEAD` and `PLACE`; with `False` in the place of `FLAG` nothing raises, with `True` it does."""


def program(bend: str, flag: bool) -> str:
    """Return a program with a way of releasing the leaf, or of not doing so."""
    return HEAD + bend.replace("FLAG", str(flag)) + PLACE
