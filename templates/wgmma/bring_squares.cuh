#pragma unroll
for (int row = 0; row < BM; row += LINE)
    copy_box(&tiles[stage].M[0][row], M_map, block_row + row, kk, full[stage]);  //@ m_product for full  //@ m_copy for copy_box
