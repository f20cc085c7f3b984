use strict;
use warnings;

use Plack::Builder;

# 128 bytes behind an access log that is written nowhere; AxsLog, since CPAN has it.
my $content = 'x' x 128;

builder {
    enable 'AxsLog', combined => 1, logger => sub { };
    sub { [200, ['Content-Type' => 'text/html'], [$content]] };
};
