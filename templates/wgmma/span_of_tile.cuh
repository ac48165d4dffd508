const span_t span = span_of(tile);
const int phases = span.phases;
