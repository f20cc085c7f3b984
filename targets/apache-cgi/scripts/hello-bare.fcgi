#!/usr/bin/perl
# The same page from a process that stays, without CGI.pm.
use strict;
use warnings;

use FCGI;

my $request = FCGI::Request();
while ($request->Accept >= 0) {
    print "Served-by: mod_fcgid-bare\r\nContent-Type: text/html; charset=ISO-8859-1\r\n\r\n";
    print 'Hello world';
}
