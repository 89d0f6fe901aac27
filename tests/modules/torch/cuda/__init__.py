from . import graphs, nvtx
