//@ instead output_of_product
C += blockIdx.z * stride_c;
P += blockIdx.z * stride_p;
//@ end
