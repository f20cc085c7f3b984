use strict;
use warnings;

use Mojo::Server::Daemon;

# The daemon alone, as the page was served then: today's own page comes from a whole application with a router.
my $daemon = Mojo::Server::Daemon->new(listen => ['http://*:8082'], silent => 1);

$daemon->unsubscribe('request')->on(
    request => sub {
        my ($self, $tx) = @_;
        $tx->res->code(200);
        $tx->res->headers->content_type('text/html');
        # Asked to close, it does, but does not say so; h2load has to be told, or it takes the end for a failure.
        $tx->res->headers->connection('close');
        $tx->res->body('Congratulations, your Mojo is working!');
        $tx->resume;
    }
);
$daemon->run;
