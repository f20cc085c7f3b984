use strict;
use warnings;

package Page;

use parent 'HTTP::Server::Simple';

my $body = 'Congratulations, your Mojo is working!';
my $head = join "\r\n", 'HTTP/1.0 200 OK', 'Content-Type: text/html', 'Content-Length: ' . length $body;

# What it prints goes to the client; it has read the request's headers before it asks.
sub handler { print "$head\r\n\r\n$body" }

package main;

Page->new(8082)->run;
