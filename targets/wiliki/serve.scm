;;; WiLiKi in processes that stay: gosh serve.scm http|scgi|fastcgi PORT
;;; A fixed number of processes, one request at a time each, one request per connection.

(add-load-path "/srv/wiliki")
(use gauche.net)
(use gauche.parameter)
(use gauche.uvector)
(use srfi-1)
(use srfi-13)
(use wiki)
(use wiliki)
(use www.cgi)

(define *processes* 8)

;;; ---- WiLiKi itself

;; What a CGI script would print for these variables: header lines, an empty one, the page.
(define (page variables)
  (parameterize ([cgi-metavariables variables])
    (with-output-to-string (lambda () (wiliki-main *wiki*)))))

;;; ---- bytes

(define (read-bytes in count)
  (let1 bytes (make-u8vector count)
    (let loop ([have 0])
      (if (= have count)
        bytes
        (let1 more (read-uvector! bytes in have)
          (if (eof-object? more)
            (error "the request ends too early")
            (loop (+ have more))))))))

;;; ---- HTTP

(define (answer-http in out)
  (and-let* ([m (#/^(\S+) (\S+) HTTP/ (read-text-line in))])
    (let* ([query (string-scan (m 2) "?" 'after)]
           [variables `(("REQUEST_METHOD" ,(m 1))
                        ("QUERY_STRING" ,(or query ""))
                        ,@(http-headers in))])
      (display (http-answer (page variables)) out))))

(define (read-text-line in)
  (let1 line (read-line in)
    (if (eof-object? line) "" (string-trim-right line))))

(define (http-headers in)
  (let loop ([found '()])
    (let1 line (read-text-line in)
      (cond [(string-null? line) found]
            [(#/^([^:\s]+):\s*(.*)$/ line)
             => (lambda (m) (loop (cons (list (variable-name (m 1)) (m 2)) found)))]
            [else (loop found)]))))

(define (variable-name header)
  (string-append "HTTP_" (string-upcase (regexp-replace-all #/-/ header "_"))))

;; CGI output as an answer of HTTP: the status gets a line of its own, the body its length.
(define (http-answer output)
  (receive (head body) (string-scan output "\r\n\r\n" 'both)
    (let* ([m (#/(?:^|\n)Status: ([^\r\n]+)/i head)]
           [status (if m (m 1) "200 OK")])
      (string-append "HTTP/1.1 " status "\r\n" head
                     "\r\nContent-Length: " (number->string (string-size body))
                     "\r\nConnection: close\r\n\r\n" body))))

;;; ---- SCGI: the variables as one netstring, name and value each ended by a NUL

(define (answer-scgi in out)
  (let* ([size (read-netstring-size in)]
         [words (string-split (u8vector->string (read-bytes in size)) #\null)])
    (read-bytes in 1)                   ; the comma after it
    (display (page (pairs words)) out)))

(define (read-netstring-size in)
  (let loop ([size 0])
    (let1 byte (u8vector-ref (read-bytes in 1) 0)
      (if (= byte (char->integer #\:))
        size
        (loop (+ (* size 10) (- byte (char->integer #\0))))))))

(define (pairs words)
  (if (or (null? words) (null? (cdr words)))
    '()
    (cons (list (car words) (cadr words)) (pairs (cddr words)))))

;;; ---- FastCGI: records of a type, eight bytes of header each

(define-constant *end-request* 3)
(define-constant *params* 4)
(define-constant *stdin* 5)
(define-constant *stdout* 6)
(define-constant *most* 65528)

(define (answer-fastcgi in out)
  (let loop ([params '()])
    (receive (type id content) (read-record in)
      (cond [(= type *params*) (loop (cons content params))]
            [(and (= type *stdin*) (zero? (u8vector-length content)))
             (write-answer out id (string->u8vector (page (params->variables (reverse params)))))]
            [else (loop params)]))))

(define (read-record in)
  (let* ([header (read-bytes in 8)]
         [at (lambda (index) (u8vector-ref header index))]
         [content (read-bytes in (+ (* 256 (at 4)) (at 5)))])
    (read-bytes in (at 6))
    (values (at 1) (+ (* 256 (at 2)) (at 3)) content)))

(define (params->variables records)
  (let* ([bytes (apply u8vector-append records)]
         [end (u8vector-length bytes)])
    (let loop ([at 0] [found '()])
      (if (>= at end)
        found
        (receive (name-size at) (read-size bytes at)
          (receive (value-size at) (read-size bytes at)
            (let* ([value-at (+ at name-size)]
                   [next (+ value-at value-size)])
              (loop next
                    (cons (list (u8vector->string bytes at value-at)
                                (u8vector->string bytes value-at next))
                          found)))))))))

;; A size takes one byte, or four with the highest bit set; also where what follows begins.
(define (read-size bytes at)
  (let1 first (u8vector-ref bytes at)
    (if (< first 128)
      (values first (+ at 1))
      (values (fold (lambda (byte size) (+ (* size 256) byte))
                    (- first 128)
                    (u8vector->list bytes (+ at 1) (+ at 4)))
              (+ at 4)))))

(define (write-answer out id bytes)
  (let1 size (u8vector-length bytes)
    (let loop ([at 0])
      (when (< at size)
        (let1 end (min size (+ at *most*))
          (write-record out *stdout* id (u8vector-copy bytes at end))
          (loop end))))
    (write-record out *stdout* id (u8vector))
    (write-record out *end-request* id (make-u8vector 8 0))))

(define (write-record out type id content)
  (let1 size (u8vector-length content)
    (write-uvector (u8vector 1 type (quotient id 256) (modulo id 256)
                             (quotient size 256) (modulo size 256) 0 0)
                   out)
    (write-uvector content out)))

;;; ---- processes

(define (serve listener answer)
  (let1 connection (socket-accept listener)
    (guard (e [else (format (current-error-port) "a request failed: ~a\n" (ref e 'message))])
      (let1 out (socket-output-port connection :buffering :full)
        (answer (socket-input-port connection) out)
        (flush out)))
    (guard (e [else #f])                ; the other side may have gone first
      (socket-shutdown connection SHUT_WR))
    (socket-close connection))
  (serve listener answer))

(define (protocol name)
  (case (string->symbol name)
    [(http) answer-http]
    [(scgi) answer-scgi]
    [(fastcgi) answer-fastcgi]
    [else (errorf "no protocol ~a; expected http, scgi or fastcgi" name)]))

;; None is started anew: where one of the processes ends, all do, and whoever measures hears of it.
(define (main args)
  (set-signal-handler! SIGPIPE #f)
  (let ([answer (protocol (list-ref args 1))]
        [listener (make-server-socket 'inet (string->number (list-ref args 2)) :reuse-addr? #t :backlog 128)])
    (dotimes (_ *processes*)
      (when (zero? (sys-fork))
        (serve listener answer)))
    (sys-wait)
    (format (current-error-port) "a process has ended, so the rest does\n")
    (sys-kill 0 SIGTERM)
    1))
