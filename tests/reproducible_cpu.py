"""Make NumPy and PyTorch round alike on all x86-64 CPUs, with one thread. Import it before them.

Stored numbers are compared to nine digits, and the libraries choose their instructions by the CPU. Tests use AVX2, which
CPUs have since 2013, and the results of MKL that do not depend on the vendor. Several threads add in another order, and
fixtures of a module run before a test could limit them.
"""

import os
import platform
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
    os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")
    os.environ.setdefault("MKL_CBWR", "COMPATIBLE")
    os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ImportWarning)  # NumPy warns of disabled features that the CPU does not have
    import numpy  # noqa: F401
