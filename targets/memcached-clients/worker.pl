#!/usr/bin/perl
# Makes the calls of one of Perl's memcached clients, which is named on the command line. It is asked over standard
# input and answers on standard output, a line of JSON each: site/cache.md has the protocol.
use strict;
use warnings;

use IO::Socket::INET;
use JSON::PP ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID);

use constant { HOST => '127.0.0.1', PORT => 11_211, KEY => 'windtunnel', THRESHOLD => 10_000 };

my $server = HOST . ':' . PORT;
my %new    = (
    'Cache::Memcached'       => sub { (servers => [$server]) },
    'Cache::Memcached::Fast' => sub { (servers => [{ address => $server }]) },
    'Cache::Memcached::libmemcached' => sub { (servers => [$server]) },
);

my $class = shift @ARGV // '';
my $options = $new{$class} or die "usage: worker.pl CLASS, which is one of: @{[sort keys %new]}\n";
eval "require $class; 1" or die $@;
my $client = $class->new({ $options->(), compress_threshold => THRESHOLD });

# What is stored, whether it is what was stored (cheap enough for every call), and how it has to look on the server:
# the least and the most bytes.
my $scalar = '0123456789' x 10;
my $hash   = { map { (sprintf('key%02d', $_) => "this is value number $_") } 0 .. 19 };
my $text   = substr join('', map { sprintf "%05d This line is one of many, and its number is %d.\n", $_, $_ * 7919 }
    0 .. 1_500), 0, 70_000;
my %payload = (
    scalar     => [$scalar, sub { $_[0] eq $scalar }, 100, 100],
    serialized => [$hash, sub { ref $_[0] && keys %{ $_[0] } == 20 && $_[0]{key07} eq $hash->{key07} }, 400, 2_000],
    compressed => [$text, sub { length $_[0] == 70_000 && $_[0] eq $text }, 1_000, 35_000],
);

my %op = (
    get => sub {
        my ($value, $right, $calls) = @_;
        my ($hits, $errors) = (0, 0);
        for (1 .. $calls) {
            my $found = $client->get(KEY);
            next unless defined $found;
            $right->($found) ? $hits++ : $errors++;
        }
        return ($hits, $errors);
    },
    set => sub {
        my ($value, $right, $calls) = @_;
        my ($hits, $errors) = (0, 0);
        for (1 .. $calls) { $client->set(KEY, $value) ? $hits++ : $errors++ }
        return ($hits, $errors);
    },
);

sub hello {
    return { ops => [sort keys %op], payloads => [sort keys %payload], client => $class, version => $class->VERSION };
}

# Stores the payload, gets it back, and looks at what the server really has.
sub preload {
    my ($name) = @_;
    my ($value, $right, $least, $most) = @{ $payload{$name} };
    $client->set(KEY, $value) or die "set failed\n";
    my $found = $client->get(KEY);
    defined $found && $right->($found) or die "what was set can't be got back\n";
    my $stored = stored();
    $stored >= $least && $stored <= $most
        or die "$name: $stored bytes on the server, expected $least to $most (compressed or not as it should be?)\n";
    return { stored => $stored };
}

# Bytes that the server has of the value, asked without the client.
sub stored {
    my $socket = IO::Socket::INET->new(PeerAddr => HOST, PeerPort => PORT, Timeout => 5) or die "no connection: $@\n";
    print {$socket} 'get ' . KEY . "\r\n";
    my ($bytes) = (readline($socket) // '') =~ m{^VALUE \S+ \d+ (\d+)} or die "the server does not have the value\n";
    close $socket;
    return $bytes + 0;
}

sub calls {
    my ($op, $name, $calls) = @_;
    my ($value, $right) = @{ $payload{$name} };
    my ($cpu, $began) = (clock_gettime(CLOCK_PROCESS_CPUTIME_ID), clock_gettime(CLOCK_MONOTONIC));
    my ($hits, $errors) = $op{$op}->($value, $right, $calls);
    my $seconds = clock_gettime(CLOCK_MONOTONIC) - $began;
    $cpu = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $cpu;
    # Of sets the last one has to be there; one get among so many calls does not count.
    if ($op eq 'set') {
        my $found = $client->get(KEY);
        $errors++, $hits-- unless defined $found && $right->($found) || !$hits;
    }
    return { calls => $calls, seconds => $seconds, cpu_seconds => $cpu, hits => $hits, errors => $errors };
}

sub answer {
    my ($asked) = @_;
    return hello() if $asked->{hello};
    return preload($asked->{preload}{payload}) if $asked->{preload};
    return calls(@{$asked}{qw(op payload calls)});
}

$| = 1;
my $json = JSON::PP->new->canonical;
while (my $line = readline STDIN) {
    my $answer = eval { answer($json->decode($line)) };
    if (!$answer) {
        chomp(my $error = $@ || 'no answer');
        $answer = { error => $error };
    }
    print $json->encode($answer), "\n";
}
