// A proxy on the client's node as extractedprism is one, written anew from what its documentation and that of go-loadbalancer say:
// each target has a score from -3 to 3, 1 at first. A TCP check of each target in turn, every -interval, adds 1 or takes 1 away.
// So does a connection that cannot be made, and the client's connection is closed then. Targets below 0 get no connection.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

type list struct {
	mu      sync.Mutex
	targets []string
	scores  []int
	current int
}

func (l *list) pick() (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for step := 1; step <= len(l.targets); step++ {
		i := (l.current + step) % len(l.targets)
		if l.scores[i] >= 0 {
			l.current = i
			return i, true
		}
	}
	return 0, false
}

func (l *list) add(i, delta int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if score := l.scores[i] + delta; score >= -3 && score <= 3 {
		l.scores[i] = score
	}
}

func (l *list) check(interval, timeout time.Duration) {
	for ; ; time.Sleep(interval) {
		for i, target := range l.targets {
			conn, err := net.DialTimeout("tcp", target, timeout)
			if err != nil {
				l.add(i, -1)
				continue
			}
			conn.Close()
			l.add(i, 1)
		}
	}
}

func (l *list) carry(client net.Conn, timeout time.Duration) {
	defer client.Close()
	i, ok := l.pick()
	if !ok {
		return
	}
	server, err := (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).Dial("tcp", l.targets[i])
	if err != nil {
		l.add(i, -1)
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:6443", "address and port")
	endpoints := flag.String("endpoints", "", "targets, with commas between")
	interval := flag.Duration("health-interval", 20*time.Second, "time between two checks")
	timeout := flag.Duration("health-timeout", 15*time.Second, "time one check and one connection may take")
	flag.Parse()
	targets := strings.Split(*endpoints, ",")
	l := &list{targets: targets, scores: make([]int, len(targets)), current: -1}
	for i := range l.scores {
		l.scores[i] = 1
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	go l.check(*interval, *timeout)
	// It ends with its parent.
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	fmt.Println("listening")
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go l.carry(conn, *timeout)
	}
}
