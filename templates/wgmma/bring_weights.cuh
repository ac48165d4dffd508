copy_box(&tiles[stage].M, M_map, kk / 2, block_row, full[stage]);  //@ stored_k for kk / 2  //@ m_product for full  //@ m_copy for copy_box
