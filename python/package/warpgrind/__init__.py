"""CUDA kernels from their PTX, with no GPU, checked as they run.

>>> import numpy as np, warpgrind
>>> module = warpgrind.load('''
...     .version 8.0
...     .target sm_90
...     .address_size 64
...     .visible .entry scale(.param .u64 x, .param .f32 factor) {
...         .reg .b32 %r;
...         .reg .f32 %f<3>;
...         .reg .b64 %rd<3>;
...         ld.param.u64 %rd0, [x];
...         ld.param.f32 %f0, [factor];
...         mov.u32 %r, %tid.x;
...         mul.wide.u32 %rd1, %r, 4;
...         add.u64 %rd2, %rd0, %rd1;
...         ld.global.f32 %f1, [%rd2];
...         mul.f32 %f2, %f1, %f0;
...         st.global.f32 [%rd2], %f2;
...         ret;
...     }''')
>>> x = np.arange(4, dtype=np.float32)
>>> module["scale"][1, 4](x, 2.5)
<Report of scale: completed>
>>> x
array([0. , 2.5, 5. , 7.5], dtype=float32)

What kernels do wrong is raised, with the text that the command ``warpgrind`` prints; arrays hold what was written before:

>>> try:
...     module["scale"][1, 5](x, 2.5)
... except warpgrind.FindingError as error:
...     print(error.report.findings[0].kind)
out-of-bounds
"""

from ._native import Error, LaunchError, LitmusError, NoDeviceError, Plan, PtxError, RecordingError, __version__
from .compare import Comparison, DeviceIdentity, DifferenceError, compare, record
from .debugger import Debugger, Stop
from .memory import DeviceArray, MappedArray
from .module import Kernel, Module, load
from .nvrtc import CompileError, compile
from .profile import Metric, Profile
from .report import Finding, FindingError, Place, Report
from .sweep import Found, Result, Sweep, Work, launches, litmus_tests, seeds, sweep
from .verdict import Cut, Execution, Outcome, Verdict, litmus

__all__ = [
    "Comparison",
    "CompileError",
    "Cut",
    "Debugger",
    "DeviceArray",
    "DeviceIdentity",
    "DifferenceError",
    "Error",
    "Execution",
    "Finding",
    "FindingError",
    "Found",
    "Kernel",
    "LaunchError",
    "LitmusError",
    "MappedArray",
    "Metric",
    "Module",
    "NoDeviceError",
    "Outcome",
    "Place",
    "Plan",
    "Profile",
    "PtxError",
    "RecordingError",
    "Report",
    "Result",
    "Stop",
    "Sweep",
    "Verdict",
    "Work",
    "__version__",
    "compare",
    "compile",
    "launches",
    "litmus",
    "litmus_tests",
    "load",
    "record",
    "seeds",
    "sweep",
]
