commit_copies();
wait_for_copies<0>();
