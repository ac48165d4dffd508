asm volatile("mma.sync.aligned.m16n8k32.row.col"
             ".s32"
             ".s8"  //@ mma_m for s8
             ".s8"  //@ mma_n for s8
             ".s32 "
             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
             : "+r"(sum0),
               "+r"(sum1),
               "+r"(sum2),
               "+r"(sum3)
             : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
