# SPDX-License-Identifier: Apache-2.0
"""Facts about an array of any library: its address, shape and strides. And new arrays of the same kind."""

from __future__ import annotations

import copy
import ctypes
import operator
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ContextManager, Dict, NoReturn, Optional, Protocol, Tuple, TypeVar, Union

import numpy

from tilejit._binding import ffi, lib
from tilejit._errors import InvalidArgument
from tilejit._types import BYTES, NAME, NUMBER, USUAL, number_of, numpy_dtype, torch_dtype

if TYPE_CHECKING:
    from tilejit._context import Context

HostArray = numpy.ndarray[Any, Any]


class SupportsDLPack(Protocol):
    """An array of PyTorch, CuPy, JAX and most others."""

    def __dlpack__(self, *args: Any, **options: Any) -> Any: ...


class SupportsCudaArray(Protocol):
    """An array of Numba and others."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


AnyArray = Union[HostArray, SupportsDLPack, SupportsCudaArray]
A = TypeVar("A", bound=AnyArray)  # the array that says of which kind the product is


class View:
    """One array. Strides count elements. A device of None is the host."""

    __slots__ = ("kind", "address", "shape", "strides", "type", "device", "read_only", "stream", "owner", "memory", "conjugated")

    def __init__(self, kind: str, address: int, shape: Tuple[int, ...], strides: Tuple[int, ...], type: int, device: Optional[str],
                 owner: Any, read_only: bool = False, stream: int = 0) -> None:
        self.kind = kind  # "torch", "cupy", "jax", "numpy", "tilejit", "cuda" (the interface), "dlpack"
        self.address = address
        self.shape = shape
        self.strides = strides
        self.type = type
        self.device = device  # "cuda:0"; "cuda" where the array does not say which
        self.read_only = read_only
        self.stream = stream  # what the array names
        self.owner = owner
        self.memory: Any = None  # what must not be freed while a call has the address
        self.conjugated = False  # the array is the conjugate of what the memory holds

    def key(self) -> Tuple[Any, ...]:
        """All properties that a call depends on, except the address."""
        return (self.kind, self.type, self.shape, self.strides, self.device, self.read_only, self.conjugated)

    def laid(self, shape: Tuple[int, ...], strides: Tuple[int, ...]) -> "View":
        """The same memory with another shape and other strides."""
        other = copy.copy(self)
        other.shape, other.strides = shape, strides
        return other


def tight(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    """The strides of a row-major array without gaps."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def elements(shape: Tuple[int, ...]) -> int:
    """The number of its elements."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def look(array: Any, name: str, stream: Optional[int]) -> View:
    """Examine an array. name: for messages; stream: the caller's, for arrays that make it wait for them."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _look_torch(torch, array, name)
    if isinstance(array, numpy.ndarray):
        if type(array) is not numpy.ndarray and isinstance(array, numpy.ma.MaskedArray):
            raise TypeError(f"{name} is masked: pass {name}.filled(0), or {name}.data, whose mask does not count")
        return View("numpy", array.ctypes.data, array.shape, _in_elements(array.strides, array.dtype.itemsize, name),
                    number_of(array.dtype, f"the type of {name}"), None, array, not array.flags.writeable)
    if isinstance(array, DeviceArray):
        return array._view()
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(array, cupy.ndarray):
        return View("cupy", array.data.ptr, array.shape, _in_elements(array.strides, array.dtype.itemsize, name),
                    number_of(array.dtype, f"the type of {name}"), f"cuda:{array.device.id}", array)
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(array, jax.Array):
        return _look_jax(array, name)
    if hasattr(array, "__cuda_array_interface__"):
        return _look_cuda(array, name)
    if hasattr(array, "__dlpack__"):
        return _look_dlpack(array, name, stream)
    raise TypeError(f"{name} is a {type(array).__module__}.{type(array).__qualname__}, which is not an array that TileJIT can read: "
                    "pass a NumPy, PyTorch, CuPy or JAX array, or one with __cuda_array_interface__ or __dlpack__")


def _in_elements(strides: Tuple[int, ...], itemsize: int, name: str) -> Tuple[int, ...]:
    for stride in strides:
        if stride % itemsize:
            raise InvalidArgument(f"{name} has strides of {strides} bytes, which are not multiples of its elements' {itemsize}: copy it first")
    return tuple(stride // itemsize for stride in strides)


def _look_torch(torch: Any, tensor: Any, name: str) -> View:
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name} is a {tensor.layout} tensor: pass {name}.to_dense()")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise TypeError(f"{name} requires gradients, which TileJIT does not record: pass {name}.detach(), or use torch.no_grad() or the "
                        "operators of tilejit.torch")
    if tensor.is_neg():
        raise TypeError(f"{name} is a view that negates: pass {name}.resolve_neg()")
    device = tensor.device
    if device.type == "cuda":
        place: Optional[str] = f"cuda:{device.index}"
    elif device.type == "cpu":
        place = None
    else:
        raise TypeError(f"{name} is on {device}: TileJIT takes tensors on the CPU and on CUDA devices")
    view = View("torch", tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), number_of(tensor.dtype, f"the type of {name}"), place, tensor)
    view.conjugated = tensor.is_conj()
    return view


def _look_jax(array: Any, name: str) -> View:
    if array.is_deleted():
        raise InvalidArgument(f"{name} is a JAX array that was deleted or donated")
    devices = array.devices()
    if len(devices) != 1:
        raise InvalidArgument(f"{name} is a JAX array on {len(devices)} devices: pass one that lies on a single device")
    device = next(iter(devices))
    number = number_of(array.dtype, f"the type of {name}")
    if device.platform == "cpu":
        host = numpy.asarray(array)
        return View("jax", host.ctypes.data, host.shape, _in_elements(host.strides, host.dtype.itemsize, name), number, None, host, True)
    if device.platform not in ("gpu", "cuda"):
        raise TypeError(f"{name} is on {device}: TileJIT takes JAX arrays on the CPU and on CUDA devices")
    array.block_until_ready()  # JAX has no stream that it would share
    return View("jax", array.unsafe_buffer_pointer(), array.shape, tight(array.shape), number, f"cuda:{device.id}", array, True)


def _look_cuda(array: Any, name: str) -> View:
    about = array.__cuda_array_interface__
    try:
        address, read_only = about["data"]
        dtype, mask = numpy.dtype(about["typestr"]), about.get("mask")
        shape, strides = tuple(map(operator.index, about["shape"])), about.get("strides")
        strides = None if strides is None else tuple(map(operator.index, strides))
        address, stream = operator.index(address or 0), operator.index(about.get("stream") or 0)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TypeError(f"{name}.__cuda_array_interface__ is {about!r}, which cannot be read: {error!r}") from None
    if mask is not None:
        raise TypeError(f"{name} is masked: pass an array without a mask")
    if dtype.kind == "V":  # a type that the interface has no word for, such as bfloat16
        dtype = getattr(array, "dtype", dtype)
    return View("cuda", address, shape, tight(shape) if strides is None else _in_elements(strides, dtype.itemsize, name),
                number_of(dtype, f"the type of {name}"), "cuda", array, bool(read_only), stream)


# A capsule is an object, or an address where it is being destroyed.
_GET_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_GET_DYING = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_IS_VALID = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_DESTROY = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_NEW_CAPSULE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DESTROY)(("PyCapsule_New", ctypes.pythonapi))

_DLPACK_CUDA = 2
# (code, bits, lanes) of DLPack's types
_DLPACK_TYPES = {(2, 32, 1): "f32", (2, 64, 1): "f64", (2, 16, 1): "f16", (4, 16, 1): "bf16", (10, 8, 1): "e4m3", (12, 8, 1): "e5m2",
                 (14, 8, 1): "e8m0", (0, 8, 1): "s8", (1, 8, 1): "u8", (0, 32, 1): "s32", (0, 4, 2): "s4", (1, 4, 2): "u4", (17, 4, 2): "e2m1",
                 (5, 64, 1): "c64", (5, 128, 1): "c128"}
_exported: Dict[int, Any] = {}  # tensors of DLPack that were handed out, by their addresses, and what they need


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tjpy_dlpack_delete(tensor: Any) -> None:
    """Called by the consumer of a tensor, from any thread."""
    _exported.pop(int(ffi.cast("size_t", tensor)), None)


@_DESTROY  # type: ignore[untyped-decorator]
def _drop_capsule(capsule: int) -> None:
    if _IS_VALID(capsule, b"dltensor"):  # nobody used it: a user gives it another name
        _exported.pop(_GET_DYING(capsule, b"dltensor"), None)


def _hand_out(view: View, ordinal: int) -> Any:
    """A DLPack capsule, which keeps the memory of a DeviceArray alive."""
    shape = ffi.new("int64_t[]", view.shape or 1)
    managed = ffi.new("dl_managed_tensor *")
    tensor = managed.tensor
    tensor.data, tensor.device_type, tensor.device_id = ffi.cast("void *", view.address), _DLPACK_CUDA, ordinal
    tensor.dimensions, tensor.shape = len(view.shape), shape
    tensor.type_code, tensor.type_bits, tensor.type_lanes = next(code for code, word in _DLPACK_TYPES.items() if word == NAME[view.type])
    managed.deleter = lib.tjpy_dlpack_delete
    address = int(ffi.cast("size_t", managed))
    _exported[address] = (managed, shape, view.memory)
    return _NEW_CAPSULE(address, b"dltensor", _drop_capsule)


def _look_dlpack(array: Any, name: str, stream: Optional[int]) -> View:
    try:
        kind = operator.index(array.__dlpack_device__()[0])
    except (AttributeError, IndexError, TypeError) as error:
        raise TypeError(f"{name}.__dlpack_device__() does not return two numbers, the type of a device and its ordinal: {error}") from None
    if kind not in (1, 2, 3, 13):  # CPU, CUDA, CUDA's host memory, CUDA's managed memory
        raise TypeError(f"{name} is on a device of DLPack's type {kind}: TileJIT takes arrays on the CPU (1) and on CUDA devices (2)")
    is_host = kind in (1, 3)
    capsule = array.__dlpack__() if is_host else array.__dlpack__(stream=stream or 1)  # 1 is the legacy default stream
    try:
        tensor = ffi.cast("dl_tensor *", _GET_POINTER(capsule, b"dltensor"))
    except ValueError:
        raise InvalidArgument(f"{name} hands out no DLPack tensor that can be read; was it consumed already?") from None
    shape = tuple(tensor.shape[i] for i in range(tensor.dimensions))
    strides = tight(shape) if tensor.strides == ffi.NULL else tuple(tensor.strides[i] for i in range(tensor.dimensions))
    word = _DLPACK_TYPES.get((tensor.type_code, tensor.type_bits, tensor.type_lanes))
    if word is None:
        raise TypeError(f"{name} has DLPack's type ({tensor.type_code}, {tensor.type_bits} bits, {tensor.type_lanes} lanes), which TileJIT "
                        f"does not multiply: convert it to {USUAL}")
    address = int(ffi.cast("size_t", tensor.data)) + tensor.byte_offset
    return View("dlpack", address, shape, strides, NUMBER[word], None if is_host else f"cuda:{tensor.device_id}", (array, capsule))


def stream_handle(stream: Any) -> Optional[int]:
    """Return the CUstream of a stream of PyTorch, CuPy or cuda.core, or of a number; None for None."""
    if stream is None:
        return None
    if isinstance(stream, int):
        if not 0 <= stream < 2**64:
            raise InvalidArgument(f"stream is {stream}, which is not a cudaStream_t: that is an address")
        return stream
    for member in ("cuda_stream", "ptr"):  # torch.cuda.Stream, cupy.cuda.Stream
        handle = getattr(stream, member, None)
        if isinstance(handle, int):
            return handle
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    raise TypeError(f"stream is a {type(stream).__qualname__}: pass a stream of PyTorch or CuPy, an object with __cuda_stream__, or its "
                    "cudaStream_t as a number")


def host_stream(handle: Optional[int]) -> None:
    """The stream of a call with host arrays. Raises InvalidArgument unless it is none."""
    if handle:
        raise InvalidArgument(f"stream is {handle}, and the arrays are on the host, for which the call waits: leave it out")


def current_stream(view: View) -> int:
    """Return the current stream of the library that owns an array."""
    if view.kind == "torch":
        return torch_stream(sys.modules["torch"], view.owner.device.index)
    if view.kind == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return view.stream


def torch_stream(torch: Any, index: int) -> int:
    """PyTorch's current stream of a device."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # what torch.cuda.current_stream wraps, without the object
    return int(raw(index) if raw else torch.cuda.current_stream(index).cuda_stream)


def device_of(view: View) -> ContextManager[Any]:
    """Make the device of an array current for its library during a call."""
    if view.kind == "torch":
        torch, index = sys.modules["torch"], view.owner.device.index
        if torch.cuda.current_device() != index:
            return torch.cuda.device(index)  # type: ignore[no-any-return]
    elif view.kind == "cupy":
        cupy = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() != view.owner.device.id:
            return cupy.cuda.Device(view.owner.device.id)  # type: ignore[no-any-return]
    return nullcontext()


def empty_like(view: View, shape: Tuple[int, ...], number: int, context: "Context") -> Any:
    """A new array on the device of view, of its kind."""
    if view.kind == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=torch_dtype(torch, number), device=view.owner.device)
    if view.kind == "cupy":
        return sys.modules["cupy"].empty(shape, dtype=numpy_dtype(number))
    if view.kind == "jax":
        import jax

        return jax.device_put(jax.numpy.empty(shape, dtype=numpy_dtype(number)), next(iter(view.owner.devices()))).block_until_ready()
    if view.kind == "tilejit":
        return DeviceArray(context, shape, number)
    raise TypeError("nothing is known of the library that made a, so it cannot be asked for the memory of the product: pass out=")


class DeviceArray:
    """A row-major array in device memory of TileJIT's own, for programs without PyTorch, CuPy or JAX.

    ``Context.empty`` and ``Context.to_device`` make one; ``numpy()`` copies it back. It lives on the emulator too. Other libraries take it
    by ``__cuda_array_interface__`` or DLPack, without a copy: ``torch.from_dlpack(array)``.
    Its memory is freed with it, or by ``free()``; products that use it must have been computed by then.
    """

    def __init__(self, context: "Context", shape: Tuple[int, ...], number: int) -> None:
        self._buffer: Any = None
        self._context = context
        self._type = number
        self._place = "cuda"
        self.shape = tuple(shape)
        self._buffer = context._create_buffer(elements(self.shape) * BYTES[number])
        context._add(self)

    @property
    def dtype(self) -> "numpy.dtype[Any]":
        """The type of its elements."""
        return numpy_dtype(self._type)

    @property
    def address(self) -> int:
        """Its address in device memory; 0 after free()."""
        return self._context._buffer_address(self._buffer)

    def _view(self) -> View:
        memory = self._buffer
        view = View("tilejit", self._context._buffer_address(memory), self.shape, tight(self.shape), self._type, self._place, self)
        view.memory = memory
        return view

    @property
    def __cuda_array_interface__(self) -> Any:
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": None, "stream": 1}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (_DLPACK_CUDA, self._context.device.ordinal)

    def __dlpack__(self, *, stream: Optional[int] = None, max_version: Any = None, dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        """Export to other libraries; the memory lives until they release it. stream: the consumer's, by DLPack's numbers."""
        device = self.__dlpack_device__()
        if copy or (dl_device is not None and tuple(dl_device) != device):
            raise BufferError(f"this array is on DLPack's device {device}, and is handed out as it lies there: copy it with numpy()")
        if stream not in (None, -1, 0, 1):  # work of the array is on the legacy default stream, for which theirs may not wait
            self._context.synchronize()
        view = self._view()
        if view.memory is None:
            raise BufferError("the memory of this array was freed")
        return _hand_out(view, device[1])

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NoReturn:
        raise TypeError("this array is in device memory, and becomes one of NumPy by a copy alone: call .numpy()")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no len()")
        return self.shape[0]

    def numpy(self) -> HostArray:
        """Return a copy in host memory, made after all products on the default stream."""
        host = numpy.empty(self.shape, self.dtype)
        self._context._read_buffer(self._buffer, host.ctypes.data, host.nbytes)
        return host

    def write(self, host: HostArray) -> None:
        """Copy a host array of the same shape and type into it."""
        host = numpy.ascontiguousarray(host)
        if host.shape != self.shape or host.dtype != self.dtype:
            raise InvalidArgument(f"an array of {host.shape} {host.dtype} does not fit one of {self.shape} {self.dtype}")
        self._context._write_buffer(self._buffer, host.ctypes.data, host.nbytes)

    def free(self) -> None:
        """Free the memory now, or when the calls that use it have ended."""
        self._buffer = None

    def __repr__(self) -> str:
        return f"<tilejit.DeviceArray {self.shape} {self.dtype}>"
