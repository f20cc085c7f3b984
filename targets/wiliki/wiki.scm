;;; The wiki that every way of serving it shares.

(define-module wiki
  (use wiliki)
  (export *wiki*))
(select-module wiki)

;; All that a request could change in the page is said here, so that each way gives the very same bytes, which
;; benchmarks/wiliki.py knows.
(define *wiki*
  (make <wiliki>
    :db-path "/srv/wiliki/data/wiki.dbm"
    :title "Wind tunnel"
    :description "A wiki to be measured"
    :top-page "TopPage"
    :language 'en
    :charsets '((en . utf-8))
    :editable? #t
    :protocol "http"
    :server-name "localhost"
    :server-port 80
    :script-name "/wiliki"))
