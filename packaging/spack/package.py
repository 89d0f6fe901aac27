# A Spack recipe: copy it to a repository of yours as packages/sonde/package.py.
from spack.package import *


class Sonde(MakefilePackage):
    """GPU profiling by NVTX region: which kernels ran in each region, what the hardware did, what to change first."""

    license("Apache-2.0")
    version("0.1.0")

    variant("cuda", default=True, description="capture programs: build with the headers of CUPTI and NVTX")
    variant("mpi", default=False, description="sonde-mpi: one report by all processes of a job")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("pcre2")
    depends_on("jansson")
    depends_on("xxhash")
    depends_on("sqlite")
    depends_on("zlib-api")
    depends_on("cuda@12.6:", when="+cuda")
    depends_on("mpi", when="+mpi")

    def flags(self):
        spec = self.spec
        return [
            "PREFIX=" + self.prefix,
            "CUDA_HOME=" + (spec["cuda"].prefix if "+cuda" in spec else "/nonexistent"),
            "MPICC=" + (spec["mpi"].mpicc if "+mpi" in spec else "none"),
            "MPICCS=",
        ]

    def build(self, spec, prefix):
        make("all", *self.flags())

    def install(self, spec, prefix):
        make("install", *self.flags())
