#pragma unroll
for (int block = 0; block < M_BLOCKS; ++block)
    copy_box(&tiles[stage].M[block], M_map, kk + block * LINE, block_row, full[stage]);  //@ m_product for full  //@ m_copy for copy_box
