use strict;
use warnings;

use HTTP::Request::Common;
use Plack::Builder;
use Plack::Test;
use Test::More;

my $app = builder {
    enable 'Fingerprint';
    sub { [200, ['Content-Type' => 'text/plain', 'Content-Length' => 5], ['hel', 'lo']] };
};

test_psgi $app, sub {
    my $ask = shift;

    my $first = $ask->(GET '/');
    is $first->code, 200;
    is $first->content, 'hello';
    like $first->header('ETag'), qr/^"[0-9a-f]+"$/;

    my $again = $ask->(GET '/', 'If-None-Match' => $first->header('ETag'));
    is $again->code, 304;
    is $again->content, '';

    is $ask->(GET '/', 'If-None-Match' => '"another"')->code, 200;
};

done_testing;
