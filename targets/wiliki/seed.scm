;;; Puts the page into an empty database, by WiLiKi's own means.

(add-load-path "/srv/wiliki")
(use file.util)
(use gauche.parameter)
(use wiki)
(use wiliki)
(use wiliki.core)
(use wiliki.page)

;; The page tells when it was changed last; a fixed time keeps one image's page like another's.
(define *changed* 1172620800)

(define (main _)
  (parameterize ([wiliki *wiki*])
    (wiliki:with-db
     (lambda ()
       (wiliki:db-put! "WindTunnel"
                       (make <wiliki-page>
                         :title "WindTunnel"
                         :key "WindTunnel"
                         :ctime *changed*
                         :mtime *changed*
                         :content (file->string "/srv/wiliki/page.txt"))))
     :rwmode :write))
  0)
