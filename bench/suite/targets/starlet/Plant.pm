package Plant;

use strict;
use warnings;

# What is planted in a commit: rounds of an empty loop for every request, and a wait for one of a hundred.
my $rounds = 0;
my $wait   = 0;
my $asked  = 0;

sub grow {
    for (1 .. $rounds) { }
    select undef, undef, undef, $wait if $wait && ++$asked % 100 == 0;
    return;
}

1;
