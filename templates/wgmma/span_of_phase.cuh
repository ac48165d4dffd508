// The group has the elements of this phase from number `skip` on and before `left`. Others are of its neighbours: they become zero in M and
// in N, because zero times no number is no number.
const index_t first = span.first + static_cast<index_t>(phase) * BK;
const int skip = max(static_cast<int>(span.begin - first), 0), left = min(static_cast<int>(span.end - first), BK);
