#!/usr/bin/perl
# The same page from a process that stays.
use strict;
use warnings;

use CGI::Fast;

while (my $query = CGI::Fast->new) {
    print $query->header(-served_by => 'mod_fcgid');
    print 'Hello world';
}
