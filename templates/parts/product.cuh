//@ instead product_of_block
// The product of the batch that this block works on.
M += blockIdx.z * stride_m;
N += blockIdx.z * stride_n;
C += blockIdx.z * stride_c;
P += blockIdx.z * stride_p;

//@ end
