// This thread's share of the copies: its first elements in each tile, and how many lines the block comes further in one go.
constexpr int M_WIDTH = 4;  // elements of one copy
constexpr int M_GO = THREADS * M_WIDTH / M_LINE;
const int m_line = threadIdx.x / (M_LINE / M_WIDTH);
const int m_first = threadIdx.x % (M_LINE / M_WIDTH) * M_WIDTH;
const input_t *m_from = &M[(block_row + m_line) * ld_m + m_first];  //@ m_t for input_t  //@ only m_row_major
//@| const input_t *m_from = &M[m_line * ld_m + block_row + m_first];  //@ m_t for input_t  //@ m_block for block_row  //@ only not m_row_major
constexpr int N_WIDTH = 4;
constexpr int N_GO = THREADS * N_WIDTH / N_LINE;
const int n_line = threadIdx.x / (N_LINE / N_WIDTH);
const int n_first = threadIdx.x % (N_LINE / N_WIDTH) * N_WIDTH;
const input_t *n_from = &N[n_line * ld_n + block_col + n_first];  //@ n_t for input_t  //@ n_block for block_col  //@ only n_row_major
//@| const input_t *n_from = &N[(block_col + n_line) * ld_n + n_first];  //@ n_t for input_t  //@ only not n_row_major
//@ if check_j and not packs_m
const index_t m_lines_left = j - block_row - m_line;  // inside M, from this thread's first on  //@ only m_row_major
//@| const index_t m_left = j - block_row - m_first;  // elements inside M, from this thread's first on  //@ m_inside for j - block_row  //@ only not m_row_major
//@ end
//@ if check_l and not packs_n
const index_t n_left = l - block_col - n_first;  // elements inside N, from this thread's first on  //@ n_inside for l - block_col  //@ only n_row_major
//@| const index_t n_lines_left = l - block_col - n_line;  // inside N, from this thread's first on  //@ only not n_row_major
//@ end

//@| vector_t<unsigned int, M_WIDTH / 4> m_weights[(M_LINES + M_GO - 1) / M_GO];  // of a phase, on their way from copy to store_weights  //@ only m_waits
//@| vector_t<unsigned int, N_WIDTH / 4> n_weights[(N_LINES + N_GO - 1) / N_GO];  // of a phase, on their way from copy to store_weights  //@ only n_waits
//@ if m_waits or n_waits

//@ end
//@ if m_clips_lines or m_clips_ends or n_clips_lines or n_clips_ends
// copy: the tiles of a phase. What lies outside M and N becomes zero, and is not read.
//@ else
//@| // copy: the tiles of a phase.
//@ end
const auto copy = [&](phase_t &into, index_t phase, int piece) {  //@ , checks_phases, spreads_copies
    //@ if checks_phases
    const index_t k_left = k - phase * BK;  //@ k_steps for k
    //@ if m_row_major and not packs_m
    const index_t m_left = k_left - m_first;  //@ m_k_left for k_left
    //@ elif not packs_m
    //@| const index_t m_lines_left = k_left - m_line;
    //@ end
    //@ if n_row_major and not packs_n
    const index_t n_lines_left = k_left - n_line;
    //@ elif not packs_n
    //@| const index_t n_left = k_left - n_first;  //@ n_k_left for k_left
    //@ end
    //@ end
#pragma unroll  //@ m_unroll for unroll
    for (int line = 0; line < M_LINES; line += M_GO) {
        //@| if (m_line + line >= M_LINES)  //@ only m_spares
        //@|     break;  // there are more threads than copies
        //@ if m_widens and m_parts
        //@| m_weights[line / M_GO] = load_weights_one_by_one<M_WIDTH>(&m_from[line * ld_m], m_left);  //@ m_loaded for m_weights[line / M_GO]  //@ m_wanted for m_left
        //@ elif m_widens and m_clips_lines or m_widens and m_clips_ends
        //@| m_weights[line / M_GO] = load_weights_or_zero<M_WIDTH>(&m_from[line * ld_m], line < m_lines_left && m_left > 0);  //@ m_loaded for m_weights[line / M_GO]  //@ m_clips_lines && m_clips_ends
        //@ elif m_widens
        //@| m_weights[line / M_GO] = load_weights<M_WIDTH>(&m_from[line * ld_m]);  //@ m_loaded for m_weights[line / M_GO]
        //@ else
        input_t *to = &into.M[m_place(m_line + line, m_first)];  //@ m_t for input_t
        //@ end
        //@| store_widened<M_WIDTH>(&into.M[m_place(m_line + line, m_first)], weights);  //@ only m_widens and not m_waits
        //@ if m_widens
        //@ elif m_parts
        //@| copy_async_part<M_WIDTH>(to, &m_from[line * ld_m], m_left);  //@ m_copy_part for copy_async_part  //@ m_wanted for m_left
        //@ elif m_clips_lines or m_clips_ends
        copy_async_or_zero<M_WIDTH * sizeof(input_t)>(to, &m_from[line * ld_m], line < m_lines_left && m_left > 0);  //@ copy_or_zero for copy_async_or_zero  //@ m_t for input_t  //@ m_clips_lines && m_clips_ends
        //@ else
        //@| copy_async<M_WIDTH * sizeof(input_t)>(to, &m_from[line * ld_m]);  //@ copy_whole for copy_async  //@ m_t for input_t
        //@ end
    }
#pragma unroll  //@ n_unroll for unroll
    for (int line = 0; line < N_LINES; line += N_GO) {
        //@| if (n_line + line >= N_LINES)  //@ only n_spares
        //@|     break;  // there are more threads than copies
        //@ if n_widens and n_parts
        //@| n_weights[line / N_GO] = load_weights_one_by_one<N_WIDTH>(&n_from[line * ld_n], n_left);  //@ n_loaded for n_weights[line / N_GO]  //@ n_wanted for n_left
        //@ elif n_widens and n_clips_lines or n_widens and n_clips_ends
        //@| n_weights[line / N_GO] = load_weights_or_zero<N_WIDTH>(&n_from[line * ld_n], line < n_lines_left && n_left > 0);  //@ n_loaded for n_weights[line / N_GO]  //@ n_clips_lines && n_clips_ends
        //@ elif n_widens
        //@| n_weights[line / N_GO] = load_weights<N_WIDTH>(&n_from[line * ld_n]);  //@ n_loaded for n_weights[line / N_GO]
        //@ else
        input_t *to = &into.N[n_place(n_line + line, n_first)];  //@ n_t for input_t
        //@ end
        //@| store_widened<N_WIDTH>(&into.N[n_place(n_line + line, n_first)], weights);  //@ only n_widens and not n_waits
        //@ if n_widens
        //@ elif n_parts
        //@| copy_async_part<N_WIDTH>(to, &n_from[line * ld_n], n_left);  //@ n_copy_part for copy_async_part  //@ n_wanted for n_left
        //@ elif n_clips_lines or n_clips_ends
        copy_async_or_zero<N_WIDTH * sizeof(input_t)>(to, &n_from[line * ld_n], line < n_lines_left && n_left > 0);  //@ copy_or_zero for copy_async_or_zero  //@ n_t for input_t  //@ n_clips_lines && n_clips_ends
        //@ else
        //@| copy_async<N_WIDTH * sizeof(input_t)>(to, &n_from[line * ld_n]);  //@ copy_whole for copy_async  //@ n_t for input_t
        //@ end
    }
    m_from += BK;  //@ m_along for BK  //@ only m_row_major
    //@| m_from += BK * ld_m;  //@ only not m_row_major
    n_from += BK * ld_n;  //@ only n_row_major
    //@| n_from += BK;  //@ n_along for BK  //@ only not n_row_major
};
//@ if m_waits

//@| // store_weights: those that copy has loaded, some steps after it, into the same tile.
//@| const auto store_weights = [&](phase_t &into) {
//@| #pragma unroll
//@|     for (int line = 0; line < M_LINES; line += M_GO) {
//@|         if (m_line + line >= M_LINES)  //@ only m_spares
//@|             break;  // there are more threads than copies
//@|         store_widened<M_WIDTH>(&into.M[m_place(m_line + line, m_first)], m_weights[line / M_GO]);
//@|     }
//@| };
//@ end
//@ if n_waits

//@| // store_weights: those that copy has loaded, some steps after it, into the same tile.
//@| const auto store_weights = [&](phase_t &into) {
//@| #pragma unroll
//@|     for (int line = 0; line < N_LINES; line += N_GO) {
//@|         if (n_line + line >= N_LINES)  //@ only n_spares
//@|             break;  // there are more threads than copies
//@|         store_widened<N_WIDTH>(&into.N[n_place(n_line + line, n_first)], n_weights[line / N_GO]);
//@|     }
//@| };
//@ end
