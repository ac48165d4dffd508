// Neighbouring elements that one instruction loads.
struct __align__(VECTOR * sizeof(input_t)) vector_t {
    input_t element[VECTOR];
};
