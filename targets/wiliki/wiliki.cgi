#!/usr/bin/gosh
;;; WiLiKi as a CGI script: a new gosh for every request.

(add-load-path "/srv/wiliki")
(use wiki)
(use wiliki)

(define (main _)
  (wiliki-main *wiki*)
  0)
