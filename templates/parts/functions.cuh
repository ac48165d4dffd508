#include "functions/sigmoid.cuh"  //@ sigmoid
#include "functions/relu.cuh"  //@ relu
#include "functions/gelu.cuh"  //@ gelu
#include "functions/gelu_tanh.cuh"  //@ gelu_tanh
#include "functions/silu.cuh"  //@ silu

