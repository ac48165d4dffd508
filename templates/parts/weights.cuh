//@ if weights_along_k
//@| // Weights that lie along k, as they come: a unit of 2 of them, of one byte or two, is just what a lane holds of a row or a column and
//@| // of a chunk of k. widen_unit makes numbers of 16 bits of them, exactly.
//@ elif weights_of_4
//@| // Weights that are neighbours across k, as they lie: a unit of 2 bytes holds 2 of 8 bits, or 4 of 4 bits. Of 16 lines, one for each
//@| // element of k, load_weights brings 8 units each, transposed. So lane 4 g + t receives unit g of lines 2 t and 2 t + 1 of both chunks,
//@| // in which each neighbour has just those elements of k that this lane holds of a fragment. A few instructions part one neighbour's two
//@| // from the rest, and make numbers of 16 bits of them, exactly:
//@| //
//@| //                unit g of line 2 t + 1      unit g of line 2 t
//@| //              +------+------+------+------+------+------+------+------+
//@| //              |  3   |  2   |  1   |  0   |  3   |  2   |  1   |  0   |   neighbours, of 4 bits each
//@| //              +------+------+------+------+------+------+------+------+
//@| //                                 |                           |
//@| //              +------------------v--------+------------------v--------+
//@| //  neighbour 1 |      of line 2 t + 1      |       of line 2 t         |   16 bits each
//@| //              +---------------------------+---------------------------+
//@ else
// Weights that are neighbours across k, as they lie: a unit of 2 bytes holds 2 of 8 bits, or 4 of 4 bits. Of 16 lines, one for each
// element of k, load_weights brings 8 units each, transposed. So lane 4 g + t receives unit g of lines 2 t and 2 t + 1 of both chunks,
// in which each neighbour has just those elements of k that this lane holds of a fragment. A few instructions part one neighbour's two
// from the rest, and make numbers of 16 bits of them, exactly:
//
//                unit g of line 2 t + 1      unit g of line 2 t
//              +-------------+-------------+-------------+-------------+
//              |      1      |      0      |      1      |      0      |   neighbours, of 8 bits each
//              +-------------+-------------+-------------+-------------+
//                     |                           |
//              +------v--------------------+------v--------------------+
//  neighbour 1 |      of line 2 t + 1      |       of line 2 t         |   16 bits each
//              +---------------------------+---------------------------+
//@ end
constexpr int NEIGHBOURS = 2;  // weights of a unit  //@ neighbours for 2  //@ only not weights_along_k
constexpr int WEIGHTS_CHUNK = 16;  // stored elements of 16 bytes

//@ if not weights_along_k
// Lane i says where line i begins; those beyond 15 are not asked.
__device__ __forceinline__ void load_weights(unsigned int (&units)[2], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(units[0]), "=r"(units[1]) : "r"(shared));
}

//@ end
// Two numbers and two others: 1 * two + more, for both types have this instruction from sm_80 on.
__device__ __forceinline__ unsigned int add_both(unsigned int two, unsigned int more)
{
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(two) : "r"(0x3c003c00u), "r"(more));  //@ only widens_to_half
    //@| asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(two) : "r"(0x3f803f80u), "r"(more));  //@ only not widens_to_half
    return two;
}

//@ if weights_of_4 and widens_to_half
//@| // 1024 + 8 + weight has the weight, with its sign turned round, as its last 4 bits.
//@| __device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
//@| {
//@|     return add_both((units >> 4 * neighbour & 0x000f000fu) ^ 0x64086408u, 0xe408e408u);  // -1032
//@| }
//@ elif weights_of_4
//@| // 128 + 8 + weight has the weight, with its sign turned round, as its last 4 bits.
//@| __device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
//@| {
//@|     return add_both((units >> 4 * neighbour & 0x000f000fu) ^ 0x43084308u, 0xc308c308u);  // -136
//@| }
//@ elif widens_to_half and weights_signed
// 1024 + 128 + weight has the weight, with its sign turned round, as its last 8 bits.
__device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
{
    return add_both(__byte_perm(units ^ 0x80808080u, 0x64646464u, neighbour == 0 ? 0x4240 : 0x4341), 0xe480e480u);  // -1152
}
//@ elif widens_to_half
//@| // 1024 + weight has the weight as its last 8 bits.
//@| __device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
//@| {
//@|     return add_both(__byte_perm(units, 0x64646464u, neighbour == 0 ? 0x4240 : 0x4341), 0xe400e400u);  // -1024
//@| }
//@ else
//@| // 128 + n has n as its last 7 bits, of which bfloat16 has no more. What the eighth is worth goes to what is subtracted.
//@| __device__ __forceinline__ unsigned int widen_neighbour(unsigned int units, int neighbour)
//@| {
//@|     const unsigned int weights = units >> 8 * neighbour, last = (weights & 0x007f007fu) | 0x43004300u;
//@ if weights_signed
//@|     return add_both(last, (weights & 0x00800080u) | 0xc300c300u);  // -128, or -256 for a negative weight
//@ else
//@|     const unsigned int less = add_both(last, (~weights & 0x00800080u) | 0xc300c300u);  // -128 for a weight from 128 on, or -256
//@|     return add_both(less, 0x43004300u);  // and 128 back
//@ end
//@| }
//@ end

//@ if weights_along_k and weights_of_4
//@| // The second weight comes to where widen_neighbour finds that of another line.
//@| __device__ __forceinline__ unsigned int widen_unit(unsigned char unit)
//@| {
//@|     return widen_neighbour(unit | unit << 12, 0);
//@| }

//@ elif weights_along_k
//@| // The second weight comes to where widen_neighbour finds that of another line.
//@| __device__ __forceinline__ unsigned int widen_unit(unsigned short unit)
//@| {
//@|     return widen_neighbour(unit | unit << 8, 0);
//@| }

//@ end
