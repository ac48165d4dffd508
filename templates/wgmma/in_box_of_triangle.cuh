#include "wgmma/in_box.cuh"
#include "wgmma/write_some.cuh"
