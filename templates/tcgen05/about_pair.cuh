
// Two blocks make a pair, and their tensor cores multiply tiles of 2 * BM rows of P together. Each block brings its own rows of M, one half
// of the columns of N, and keeps the sums of its own rows; the other half of N is read from the other block. One thread of the first block
// asks for the products of both: so barriers for which it waits are those of the first block, and its products arrive in both.
