"""A GPU that is not there: all numbers are computed on the CPU, but every tensor remembers on which device it
would be.

    with PretendGPU():
        network.to("cuda")
        network.encode(points)  # RuntimeError where the points are still on the CPU and nobody moves them

The rules are CUDA's: an operation refuses tensors of two devices, except `copy_` and numbers (tensors without
dimensions) from the CPU; a tensor of the GPU cannot become an array. Two rules are stricter: an index and an
assigned value must be on the device of the tensor.
"""

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
ABOUT_THE_DEVICE = {
    Tensor.device.__get__: GPU,
    Tensor.is_cuda.__get__: True,
    Tensor.is_cpu.__get__: False,
    Tensor.get_device: 0,
}
# what is asked of a tensor most often, and has the same answer on every device
SAME_EVERYWHERE = {
    *(
        getattr(Tensor, name).__get__
        for name in ("shape", "dtype", "ndim", "requires_grad", "is_leaf", "layout")
    ),
    *(getattr(Tensor, name) for name in ("dim", "size", "numel", "stride", "__len__", "is_floating_point")),
}
INTO_ARRAYS = (Tensor.numpy, Tensor.__array__)
MOVES = (Tensor.to, Tensor.cpu, Tensor.cuda)
# the last two are of `module.to`
ACROSS_DEVICES = (*MOVES, Tensor.copy_, Tensor.data.__set__, torch._has_compatible_shallow_copy_type)


def tensors_in(value: object) -> list[Tensor]:
    """All tensors in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        return [value]
    found, parts = [], value.values() if isinstance(value, dict) else value
    for part in parts if isinstance(value, (list, tuple, dict)) else ():
        if isinstance(part, Tensor):
            found.append(part)
        elif isinstance(part, (list, tuple, dict)):
            found += tensors_in(part)
    return found


def on_gpu(tensor: Tensor) -> bool:
    return getattr(tensor, "pretended", False)


def marked(result: object, gpu: bool) -> object:
    for tensor in tensors_in(result):
        tensor.pretended = gpu
    return result


def is_device(value: object) -> bool:
    return (
        isinstance(value, torch.device) or isinstance(value, str) and value.split(":")[0] in ("cpu", "cuda")
    )


# what a program asks about its GPUs: there is one, with 8 GB
ASKED = {
    "is_available": lambda: True,
    "set_device": lambda device: None,
    "mem_get_info": lambda device=None: (8 * 2**30, 8 * 2**30),
    "memory_reserved": lambda device=None: 0,
    "memory_allocated": lambda device=None: 0,
}


class PretendGPU(TorchFunctionMode):
    """While it is active, the device "cuda" can be used, and is found by whoever looks for one."""

    def __enter__(self):
        self.before = {name: getattr(torch.cuda, name) for name in ASKED}
        vars(torch.cuda).update(ASKED)
        return super().__enter__()

    def __exit__(self, *error):
        vars(torch.cuda).update(self.before)
        return super().__exit__(*error)

    def __torch_function__(self, function, types, arguments=(), options=None):
        if function in SAME_EVERYWHERE:
            return function(*arguments, **(options or {}))
        options, given = options or {}, tensors_in(arguments)
        given += tensors_in(options)
        gpu = any([on_gpu(tensor) for tensor in given])
        if gpu and function in ABOUT_THE_DEVICE:
            return ABOUT_THE_DEVICE[function]
        if gpu and function in INTO_ARRAYS:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            )
        if (
            gpu
            and function not in ACROSS_DEVICES
            and not all(on_gpu(tensor) or tensor.dim() == 0 for tensor in given)
        ):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but {function.__name__} got some on cuda:0 and some on cpu."
            )
        if function in MOVES:
            return self.moved(function, *arguments, **options)
        if function is Tensor.pin_memory:  # needs a real GPU
            return arguments[0]
        if function == Tensor.data.__set__:
            marked(arguments[0], on_gpu(arguments[1]))
        if function is Tensor.copy_:
            gpu = on_gpu(arguments[0])
        if options.get("device") is not None:
            gpu = torch.device(options["device"]).type == "cuda"
            options = options | ({"device": CPU} if gpu else {})
        return marked(function(*arguments, **options), gpu)

    @staticmethod
    def moved(function, tensor: Tensor, *arguments, **options) -> Tensor:
        """`.cpu()`, `.cuda()` or `.to(device or other tensor or type)`: another tensor where the device
        changes."""
        if function is not Tensor.to:
            arguments, options = ("cpu" if function is Tensor.cpu else "cuda",), {}
        gpu = on_gpu(tensor)
        for value in (*arguments, options.get("device")):
            if is_device(value):
                gpu = torch.device(value).type == "cuda"
            elif isinstance(value, Tensor):
                gpu = on_gpu(value)
        real = {name: CPU if is_device(value) else value for name, value in options.items()}
        result = tensor.to(*(CPU if is_device(value) else value for value in arguments), **real)
        return marked(result.clone() if result is tensor and gpu != on_gpu(tensor) else result, gpu)
