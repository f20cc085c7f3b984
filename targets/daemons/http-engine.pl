use strict;
use warnings;

use HTTP::Engine;
use HTTP::Engine::Response;

HTTP::Engine->new(
    interface => {
        module => 'ServerSimple',
        args => { host => '0.0.0.0', port => 8082 },
        request_handler => sub { HTTP::Engine::Response->new(body => 'Congratulations, your Mojo is working!') },
    },
)->run;
