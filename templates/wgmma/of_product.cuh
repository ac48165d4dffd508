#include "parts/output.cuh"
#include "parts/scale.cuh"
