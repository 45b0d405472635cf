// A stand-in kube-apiserver with the TLS and HTTP/2 code of a real one (Go's), in a process of its own.
//
// It answers GET of /readyz, /livez, /healthz and /version. After SIGTERM /readyz is 500 at once, everything else is served for
// the shutdown delay, then connections get GOAWAY and the process ends. Orders come as lines on stdin: "slow 3s",
// "certificate expired", "certificate good". It ends when stdin does. Each answer says in X-Lab who gave it and whether it is ready.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

type state struct {
	name        string
	stopping    atomic.Bool
	slowNs      atomic.Int64
	certificate atomic.Pointer[tls.Certificate]
}

func (s *state) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(time.Duration(s.slowNs.Load()))
	ready := "ready"
	if s.stopping.Load() {
		ready = "unready"
	}
	w.Header().Set("X-Lab", s.name+" "+ready)
	switch {
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/readyz" && s.stopping.Load():
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n")
	case r.URL.Path == "/readyz" || r.URL.Path == "/livez" || r.URL.Path == "/healthz":
		fmt.Fprint(w, "ok")
	case r.URL.Path == "/version":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`)
	default:
		w.WriteHeader(http.StatusForbidden)
	}
}

func (s *state) obey(good, expired *tls.Certificate) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch words := strings.Fields(lines.Text()); words[0] {
		case "slow":
			delay, err := time.ParseDuration(words[1])
			if err != nil {
				log.Fatal(err)
			}
			s.slowNs.Store(int64(delay))
		case "certificate":
			if words[1] == "expired" {
				s.certificate.Store(expired)
			} else {
				s.certificate.Store(good)
			}
		}
	}
	os.Exit(0)
}

func load(file string) *tls.Certificate {
	pair, err := tls.LoadX509KeyPair(file+".crt", file+".key")
	if err != nil {
		log.Fatal(err)
	}
	return &pair
}

func main() {
	address := flag.String("listen", "", "address and port")
	name := flag.String("name", "", "id of the target")
	folder := flag.String("certificates", "", "folder with good.crt, good.key, expired.crt and expired.key")
	delay := flag.Duration("delay", 0, "time it serves after SIGTERM, as --shutdown-delay-duration")
	flag.Parse()
	good, expired := load(*folder+"/good"), load(*folder+"/expired")
	s := &state{name: *name}
	s.certificate.Store(good)
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler:           s,
		IdleTimeout:       90 * time.Second,
		ReadHeaderTimeout: 32 * time.Second,
		ErrorLog:          log.New(os.Stderr, "", 0),
		TLSConfig: &tls.Config{
			MinVersion:             tls.VersionTLS12,
			SessionTicketsDisabled: true,
			GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate.Load(), nil },
		},
	}
	go s.obey(good, expired)
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	go func() {
		<-ending
		s.stopping.Store(true)
		time.Sleep(*delay)
		// GOAWAY to HTTP/2 clients; those that stay are cut after 2 s.
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		os.Exit(0)
	}()
	fmt.Println("listening")
	if err := server.ServeTLS(listener, "", ""); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	select {}
}
