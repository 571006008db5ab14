package cli

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/fleet"
)

// fleetFlags are shared by agents and teachers.
type fleetFlags struct {
	url, name          string
	credentials        string
	tlsCA, cert, key   string
	signKey, trustKeys string
	maxExperience      int64
	perService         int64
	replicas, inFlight int
}

func (f *fleetFlags) add(flags *pflag.FlagSet) {
	c := fleet.Default()
	flags.StringVar(&f.url, "nats", "", "servers, comma-separated: nats://HOST:4222 or tls://HOST:4222")
	flags.StringVar(&f.name, "fleet", c.Name, "name of the fleet: its stream and bucket are called after it")
	flags.StringVar(&f.credentials, "credentials", "", "file with the credentials of a user of the servers")
	flags.StringVar(&f.tlsCA, "tls-ca", "", "CA file for the servers' certificates; default: the system's CAs")
	flags.StringVar(&f.cert, "tls-cert", "", "file of the client certificate")
	flags.StringVar(&f.key, "tls-key", "", "file of its key")
	flags.StringVar(&f.trustKeys, "trust-keys", "",
		"file, or folder of files *.pub, of the keys whose weights are used; default: weights need no signature")
	flags.Int64Var(&f.maxExperience, "max-experience", c.MaxMessages,
		"maximum number of decisions in the stream, if this command creates it")
	flags.Int64Var(&f.perService, "per-service", c.PerService, "maximum number of decisions of one service in the stream")
	flags.IntVar(&f.replicas, "replicas", 0, "replicas of the stream, if this command creates it; 0 = 3 in a cluster, else 1")
	flags.IntVar(&f.inFlight, "in-flight", c.InFlight, "decisions under way that no server has acknowledged")
}

// config of the fleet, without the server of the command.
func (f *fleetFlags) config(client string, stderr io.Writer) fleet.Config {
	c := fleet.Default()
	c.Name, c.Client, c.URL = f.name, client, f.url
	c.Credentials, c.CA, c.Cert, c.Key = f.credentials, f.tlsCA, f.cert, f.key
	c.SignKey, c.TrustKeys = f.signKey, f.trustKeys
	c.MaxMessages, c.PerService, c.Replicas, c.InFlight = f.maxExperience, f.perService, f.replicas, f.inFlight
	c.Log = slog.New(slog.NewTextHandler(stderr, nil))
	return c
}
