use strict;
use warnings;

use Plack::Builder;

# 2,048 bytes, whatever is asked: what is measured is the middleware around them.
my $content = 'x' x 2048;

builder {
    enable 'Fingerprint';
    sub { [200, ['Content-Type' => 'text/plain', 'Content-Length' => length $content], [$content]] };
};
