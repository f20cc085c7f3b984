use strict;
use warnings;

use Plack::Builder;

# 128 bytes behind an access log that is written nowhere: a little work in perl for each request. Their length is told,
# since some servers would else end the body by ending the connection, and h2load takes that for a failure.
my $content = 'x' x 128;
my @headers = ('Content-Type' => 'text/html', 'Content-Length' => length $content);

builder {
    enable 'AccessLog', format => 'combined', logger => sub { };
    sub { [200, [@headers], [$content]] };
};
