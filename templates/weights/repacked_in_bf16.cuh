#include "weights/repacked.cuh"

#include "weights/e2m1_in_bf16.cuh"
