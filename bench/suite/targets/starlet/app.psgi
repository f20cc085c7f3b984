use strict;
use warnings;

use lib '.';
use Plack::Builder;
use Plant;

# 128 bytes behind an access log that is written nowhere: a little work in perl for each request.
my $content = 'x' x 128;

builder {
    enable 'AccessLog', format => 'combined', logger => sub { };
    sub { Plant::grow(); [200, ['Content-Type' => 'text/html'], [$content]] };
};
