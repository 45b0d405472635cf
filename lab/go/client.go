// Clients of the lab. Each writes what went wrong as lines of JSON: {"at": Unix ms, "took": ms, "error": "..."} for a request that
// failed, the same without "error" for one of over a second, "unready" for one that a target answered that was not ready. Last,
// at SIGTERM, {"total": requests}.
//
//	client -kind fresh     a new HTTP/2 connection for each request, with the settings of client-go
//	client -kind lasting   one connection that lasts, with the settings of client-go; {"connected": target} when it is another one
//	client -kind single    as fresh, but with the first address only that the resolver gives, as some programs do
//	client -kind curl      a curl process for each request
//	client -kind watch     asks name servers for the name's addresses; {"at", "server", "addresses"} at each change
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/http2"
)

// Requests that may be under way beyond those that wait for their timeout; further ones are left out. On a machine that is too busy
// to start a curl in time, more would make it worse.
const spare = 15

var (
	url     = flag.String("url", "", "what is requested")
	ca      = flag.String("ca", "", "PEM file of the authority")
	kind    = flag.String("kind", "fresh", "fresh, lasting, single, curl or watch")
	every   = flag.Duration("every", 50*time.Millisecond, "time between two requests")
	timeout = flag.Duration("timeout", 5*time.Second, "time after which a request is given up")
	name    = flag.String("name", "", "the name that watch asks for")
	servers = flag.String("servers", "", "addresses that watch asks, with commas between")
)

// client-go's.
var dialer = &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}

// A curl that got the signal which ends this client.
var errEnding = errors.New("ending")

type event struct {
	At      int64  `json:"at"`
	Took    int64  `json:"took"`
	Error   string `json:"error,omitempty"`
	Unready string `json:"unready,omitempty"`
}

type recorder struct {
	mu    sync.Mutex
	out   *json.Encoder
	open  map[int]time.Time
	total int
	// The target that answered last.
	who string
}

func (r *recorder) begin() (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) >= int(*timeout / *every)+spare {
		return 0, false
	}
	r.total++
	r.open[r.total] = time.Now()
	return r.total, true
}

func (r *recorder) end(id int, lab string, err error) {
	if errors.Is(err, errEnding) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	began := r.open[id]
	delete(r.open, id)
	e := event{At: began.UnixMilli(), Took: time.Since(began).Milliseconds()}
	who, ready, _ := strings.Cut(lab, " ")
	if err == nil && *kind == "lasting" && who != r.who {
		r.who = who
		_ = r.out.Encode(map[string]string{"connected": who})
	}
	if err != nil {
		e.Error = err.Error()
	} else if ready == "unready" {
		e.Unready = who
	}
	if e.Error != "" || e.Unready != "" || e.Took > 1000 {
		_ = r.out.Encode(e)
	}
}

// finish reports what is still under way, and the total.
func (r *recorder) finish() {
	r.mu.Lock()
	for _, began := range r.open {
		if took := time.Since(began); took > time.Second {
			_ = r.out.Encode(event{At: began.UnixMilli(), Took: took.Milliseconds(), Error: "unfinished"})
		}
	}
	_ = r.out.Encode(map[string]int{"total": r.total})
	os.Exit(0)
}

// dialFirst connects to the first address of a name, and to no other.
func dialFirst(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	return dialer.DialContext(ctx, network, net.JoinHostPort(addresses[0], port))
}

func newTransport(roots *x509.CertPool, isFresh bool) *http.Transport {
	dial := dialer.DialContext
	if *kind == "single" {
		dial = dialFirst
	}
	transport := &http.Transport{
		DialContext:         dial,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 25,
		DisableKeepAlives:   isFresh,
	}
	h2, err := http2.ConfigureTransports(transport)
	if err != nil {
		panic(err)
	}
	h2.ReadIdleTimeout = 30 * time.Second
	h2.PingTimeout = 15 * time.Second
	return transport
}

func goRequest(client *http.Client) (string, error) {
	response, err := client.Get(*url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", response.StatusCode)
	}
	return response.Header.Get("X-Lab"), nil
}

func curlRequest() (string, error) {
	seconds := fmt.Sprintf("%.1f", timeout.Seconds())
	cmd := exec.Command("curl", "-q", "-s", "-o", "/dev/null", "--cacert", *ca, "--capath", "/nonexistent", "-m", seconds,
		"-w", "%{http_code} %header{x-lab}", *url)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return "", errEnding
	}
	if err != nil {
		return "", err
	}
	status, lab, _ := strings.Cut(string(out), " ")
	if status != "200" {
		return "", fmt.Errorf("status %s", status)
	}
	return lab, nil
}

func request(r *recorder) func() {
	if *kind == "curl" {
		return func() {
			if id, ok := r.begin(); ok {
				lab, err := curlRequest()
				r.end(id, lab, err)
			}
		}
	}
	pem, err := os.ReadFile(*ca)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: newTransport(roots, *kind != "lasting"), Timeout: *timeout}
	return func() {
		if id, ok := r.begin(); ok {
			lab, err := goRequest(client)
			r.end(id, lab, err)
		}
	}
}

func ask(server string, id uint16) ([]string, error) {
	query := dnsmessage.Message{
		Header: dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{
			Name: dnsmessage.MustNewName(*name + "."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET,
		}},
	}
	packed, err := query.Pack()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "udp", server+":53")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := conn.Write(packed); err != nil {
		return nil, err
	}
	buffer := make([]byte, 1500)
	length, err := conn.Read(buffer)
	if err != nil {
		return nil, err
	}
	var reply dnsmessage.Message
	if err := reply.Unpack(buffer[:length]); err != nil || reply.ID != id || reply.RCode != dnsmessage.RCodeSuccess {
		return nil, errors.New("no answer")
	}
	addresses := []string{}
	for _, answer := range reply.Answers {
		if a, ok := answer.Body.(*dnsmessage.AResource); ok {
			addresses = append(addresses, net.IP(a.A[:]).String())
		}
	}
	sort.Strings(addresses)
	return addresses, nil
}

func watch(r *recorder, server string) {
	before := ""
	for id := uint16(1); ; id++ {
		began := time.Now()
		if addresses, err := ask(server, id); err == nil {
			if now := strings.Join(addresses, " "); now != before {
				before = now
				r.mu.Lock()
				_ = r.out.Encode(map[string]any{"at": began.UnixMilli(), "server": server, "addresses": addresses})
				r.mu.Unlock()
			}
		}
		time.Sleep(time.Until(began.Add(*every)))
	}
}

func main() {
	flag.Parse()
	r := &recorder{out: json.NewEncoder(os.Stdout), open: map[int]time.Time{}}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	// It ends with its parent.
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	if *kind == "watch" {
		for _, server := range strings.Split(*servers, ",") {
			go watch(r, server)
		}
	} else {
		send := request(r)
		go func() {
			for range time.Tick(*every) {
				go send()
			}
		}()
	}
	<-ending
	r.finish()
}
