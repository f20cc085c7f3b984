use strict;
use warnings;

use Plack::Builder;

# 128 bytes behind an access log that is written nowhere: a little work in perl for each request.
my $content = 'x' x 128;

builder {
    enable 'AccessLog', format => 'combined', logger => sub { };
    sub { [200, ['Content-Type' => 'text/html'], [$content]] };
};
