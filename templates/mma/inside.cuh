const index_t m_lines_left = j - block_row - m_line;  // inside M, from this thread's first on  //@ only m_clips_lines and m_along_k and not gathers_m
//@| const index_t m_left = j - block_row - m_first;  // elements inside M, from this thread's first on  //@ m_inside for j - block_row  //@ only m_clips_ends and not m_along_k
const index_t n_left = l - block_col - n_first;  // elements inside N, from this thread's first on  //@ n_inside for l - block_col  //@ only n_clips_ends and not n_along_k
//@| const index_t n_lines_left = l - block_col - n_line;  // inside N, from this thread's first on  //@ only n_clips_lines and n_along_k
