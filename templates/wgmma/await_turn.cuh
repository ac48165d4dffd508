wait(begins[warpgroup - 1], round);
round ^= 1;
