#!/usr/bin/perl
# The same page without CGI.pm: what is left is the price of starting perl.
use strict;
use warnings;

print "Served-by: cgi-bare\r\nContent-Type: text/html; charset=ISO-8859-1\r\n\r\n";
print 'Hello world';
