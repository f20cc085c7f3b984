package Plack::Middleware::Fingerprint;

use strict;
use warnings;

use parent 'Plack::Middleware';

use Digest::SHA ();
use Plack::Util ();

our $VERSION = '0.03';

sub call {
    my ($self, $env) = @_;
    my $known = $env->{HTTP_IF_NONE_MATCH};
    return $self->response_cb($self->app->($env), sub {
        my $response = shift;
        return if $response->[0] != 200 || ref $response->[2] ne 'ARRAY';
        my $tag = '"' . fingerprint($response->[2]) . '"';
        my $headers = Plack::Util::headers($response->[1]);
        $headers->set(ETag => $tag);
        return if !defined $known || $known ne $tag;
        @$response[0, 2] = (304, []);
        $headers->remove($_) for 'Content-Length', 'Content-Type';
        return;
    });
}

# A short text that is another one for another body.
sub fingerprint {
    my ($pieces) = @_;
    return Digest::SHA::sha1_hex(join '', @$pieces);
}

1;

__END__

=head1 NAME

Plack::Middleware::Fingerprint - An ETag from the body

=head1 SYNOPSIS

    enable 'Fingerprint';

=head1 DESCRIPTION

Answers with the status 200 and a body that is an array get an C<ETag>. A client that sends it back in
C<If-None-Match> is answered with 304 and no body.

=cut
