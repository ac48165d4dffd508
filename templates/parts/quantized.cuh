constexpr int SCALE_SUMS = 128;  // neighbours that share a scale of P

#include "parts/scale_of.cuh"
