copy_box(&tiles[stage].M, M_map, kk, block_row, full[stage]);  //@ m_product for full  //@ m_copy for copy_box
