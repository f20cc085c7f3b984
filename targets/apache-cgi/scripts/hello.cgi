#!/usr/bin/perl
# One page for plain CGI, mod_perl and mod_perlite; it tells which of them runs it.
use strict;
use warnings;

use CGI;

my $way = $ENV{MOD_PERL} ? 'mod_perl' : $ENV{MOD_PERLITE} ? 'mod_perlite' : 'cgi';
my $query = CGI->new;

print $query->header(-served_by => $way);
print 'Hello world';
