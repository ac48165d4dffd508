// The second weight comes to where widen_neighbour finds that of another line.
__device__ __forceinline__ unsigned int widen_unit(unsigned short unit)  //@ weights_unit for unsigned short
{
    return widen_neighbour(unit | unit << 8, 0);  //@ unit_shift for 8
}

