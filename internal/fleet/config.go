package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

// Config is the connection and the limits of a fleet.
type Config struct {
	Name string // of the fleet; the prefix of its stream and bucket

	// Server is the embedded one; without it, URL lists external servers, comma-separated.
	Server      *Server
	URL         string
	Credentials string // file of an external cluster's user
	CA          string // file with the CA of the servers' certificates; empty = the system's CAs
	Cert, Key   string // files of the client certificate, where servers require one
	Client      string // client name shown by servers

	SignKey   string // file of the key that weights are signed with; empty = they are not signed
	TrustKeys string // file, or folder of files *.pub, of the keys whose weights are used; empty = all weights are

	// Of the stream and the bucket when they are created; existing ones are not changed.
	Replicas    int           // 0 = 3 in a cluster, else 1
	MaxBytes    int64         // of experience that is not acknowledged
	MaxMessages int64         // the same, in decisions
	PerService  int64         // decisions of one service: a flooding one fills its own share only
	Duplicates  time.Duration // how long the server keeps message ids
	WeightBytes int64         // bytes of weights

	InFlight int           // unacknowledged messages in flight
	Timeout  time.Duration // of every request

	Log *slog.Logger // nil = none
}

// Default is enough for a thousand students for half an hour without their teacher.
func Default() Config {
	return Config{
		Name: "loadline", Client: "loadline",
		MaxBytes: 64 << 20, MaxMessages: 200_000, PerService: 4096, Duplicates: 2 * time.Minute, WeightBytes: 32 << 20,
		InFlight: 64, Timeout: 5 * time.Second,
	}
}

// names that a stream and a bucket may have.
var names = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate reports every fault at once.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, key string, value any, must string) {
		if bad {
			faults = append(faults, fmt.Errorf("fleet: %s is %v, must be %s", key, value, must))
		}
	}
	fault(!names.MatchString(c.Name), "name", fmt.Sprintf("%q", c.Name), "1 to 64 letters, digits, - or _")
	if c.Server == nil {
		faults = append(faults, checkURLs(c.URL))
	}
	fault((c.Cert == "") != (c.Key == ""), "certificate and key", fmt.Sprintf("%q and %q", c.Cert, c.Key), "both given or neither")
	for _, f := range []struct{ key, path string }{{"credentials", c.Credentials}, {"CA", c.CA}, {"certificate", c.Cert}, {"key", c.Key},
		{"signing key", c.SignKey}, {"public keys", c.TrustKeys}} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			faults = append(faults, fmt.Errorf("fleet: %s: %w", f.key, err))
		}
	}
	fault(c.Replicas < 0 || c.Replicas > 5, "replicas", c.Replicas, "from 0 to 5")
	fault(c.MaxBytes < 1<<10, "max bytes", c.MaxBytes, "at least 1024")
	fault(c.MaxMessages < 1, "max messages", c.MaxMessages, "at least 1")
	fault(c.PerService < 1, "messages per service", c.PerService, "at least 1")
	fault(c.Duplicates < 100*time.Millisecond, "window of duplicates", c.Duplicates, "at least 100ms")
	fault(c.WeightBytes < 1<<14, "bytes of weights", c.WeightBytes, "at least 16384")
	fault(c.InFlight < 1, "in flight", c.InFlight, "at least 1")
	fault(c.Timeout < 10*time.Millisecond, "timeout", c.Timeout, "at least 10ms")
	return errors.Join(faults...)
}

// checkURLs reports the faults of a list of servers.
func checkURLs(list string) error {
	if list == "" {
		return errors.New("fleet: no server: give a URL such as nats://HOST:4222, or embed one")
	}
	var faults []error
	for _, s := range strings.Split(list, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			faults = append(faults, fmt.Errorf("fleet: %q is no address of a server, must be nats://HOST:PORT or tls://HOST:PORT", s))
		}
	}
	return errors.Join(faults...)
}

func (c Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}
