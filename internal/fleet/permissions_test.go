package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// shipped is the folder of the permissions that are documented for operators.
const shipped = "../../deploy/optional/nats"

// role is the shipped permissions of a role in a fleet, as text.
func role(t *testing.T, name, fleet string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(shipped, name+".conf"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "FLEET", fleet)
}

// grant adds the shipped permissions of a role to a user.
func grant(t *testing.T, to *jwt.UserClaims, name, fleet string) {
	t.Helper()
	parsed, err := conf.Parse(role(t, name, fleet))
	if err != nil {
		t.Fatal(err)
	}
	for verb, list := range map[string]*jwt.StringList{"publish": &to.Pub.Allow, "subscribe": &to.Sub.Allow} {
		for _, subject := range parsed[verb].(map[string]any)["allow"].([]any) {
			list.Add(subject.(string))
		}
	}
}

// jwtServer runs a server with an operator and one account, and returns its address and a maker of
// credentials for roles.
func jwtServer(t *testing.T) (url string, credentials func(role, fleet string) string) {
	t.Helper()
	operator, operatorID := newKeys(t, nkeys.CreateOperator)
	_, systemID := newKeys(t, nkeys.CreateAccount)
	account, accountID := newKeys(t, nkeys.CreateAccount)
	claims := jwt.NewAccountClaims(accountID)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	resolver := &server.MemAccResolver{}
	for id, c := range map[string]*jwt.AccountClaims{accountID: claims, systemID: jwt.NewAccountClaims(systemID)} {
		text, err := c.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolver.Store(id, text); err != nil {
			t.Fatal(err)
		}
	}
	n, err := server.NewServer(&server.Options{
		ServerName: "outside", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: t.TempDir(), AuthTimeout: 20,
		TrustedOperators: []*jwt.OperatorClaims{jwt.NewOperatorClaims(operatorID)}, SystemAccount: systemID, AccountResolver: resolver,
	})
	if err != nil {
		t.Fatal(err)
	}
	go n.Start()
	t.Cleanup(n.Shutdown)
	if !n.ReadyForConnections(soon) {
		t.Fatal("the server does not start")
	}
	return n.ClientURL(), func(role, fleet string) string {
		user, userID := newKeys(t, nkeys.CreateUser)
		claims := jwt.NewUserClaims(userID)
		grant(t, claims, role, fleet)
		token, err := claims.Encode(account)
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(token, seed)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "user.creds")
		writeText(t, path, string(text))
		return path
	}
}

// TestShippedPermissionsSuffice: teacher, agents and controllers work with the permissions of
// deploy/optional/nats, and no request of theirs is refused.
func TestShippedPermissionsSuffice(t *testing.T) {
	t.Parallel()
	url, credentials := jwtServer(t)
	open := func(role, fleet string) *Link {
		l := link(t, func(c *Config) { c.URL, c.Credentials, c.Name = url, credentials(role, fleet), fleet })
		wait(t, l)
		return l
	}
	_, model := bookinfo(t, 1)
	for i, student := range []string{"agent", "controller"} {
		fleet := "loadline_shop_" + student
		end := open("teacher", fleet)
		l := open(student, fleet)
		mirror := l.NewWeightCache([]string{"details"})
		background(t, mirror.Run)
		if r := publish(t, l, experience("details", 1, 1)); r.Sequence != 1 {
			t.Errorf("%+v", r)
		}
		teacher, err := NewCollector(end, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := teacher.pass(); n != 1 || err != nil {
			t.Errorf("%d counted, %v", n, err)
		}
		if published, err := teacher.Publish(model); !published || err != nil {
			t.Errorf("published %v, %v", published, err)
		}
		eventually(t, "weights are seen", func() bool { return mirror.Latest("details").Weights.Version == 2 })
		for _, l := range []*Link{end, l} {
			if err := l.conn.LastError(); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
}

// TestShippedPermissionsAreNarrow: what a role need not do is refused.
func TestShippedPermissionsAreNarrow(t *testing.T) {
	t.Parallel()
	url, credentials := jwtServer(t)
	const ours, theirs = "loadline_shop_web", "loadline_bank_web"
	for _, fleet := range []string{ours, theirs} {
		wait(t, link(t, func(c *Config) { c.URL, c.Credentials, c.Name = url, credentials("teacher", fleet), fleet }))
	}
	for _, row := range []struct {
		role    string
		publish []string // subjects
		listen  []string
	}{
		{"agent", []string{
			"$KV." + ours + "-weights.web", "$JS.API.STREAM.PURGE." + ours + "-experience", "$JS.API.STREAM.DELETE." + ours + "-experience",
			"$JS.API.STREAM.UPDATE." + ours + "-experience", "$JS.API.DIRECT.GET." + ours + "-experience", theirs + ".x.web",
			"$JS.API.STREAM.INFO." + theirs + "-experience", "$JS.API.CONSUMER.CREATE.KV_" + theirs + "-weights.a.b",
			"$JS.API.CONSUMER.CREATE." + ours + "-experience.a.b", "_INBOX_LOADLINE." + ours + ".x",
		}, []string{ours + ".x.*", theirs + ".x.*", "$KV.>", "_INBOX_LOADLINE." + theirs + ".>", "_INBOX.>", ">"}},
		{"teacher", []string{
			ours + ".x.web", theirs + ".x.web", "$KV." + theirs + "-weights.web", "$JS.API.STREAM.PURGE." + theirs + "-experience",
			"$JS.API.STREAM.DELETE." + ours + "-experience", "$JS.API.DIRECT.GET." + theirs + "-experience",
			"$JS.API.STREAM.CREATE." + theirs + "-experience",
		}, []string{theirs + ".x.*", "$KV.>", "_INBOX_LOADLINE." + theirs + ".>", ">"}},
		{"controller", []string{
			"$KV." + ours + "-weights.web", "$JS.API.STREAM.PURGE." + ours + "-experience", "$JS.API.STREAM.CREATE." + ours + "-experience",
			"$JS.API.DIRECT.GET." + ours + "-experience", "$JS.API.STREAM.DELETE." + ours + "-experience",
		}, []string{"*.x.*", "$KV.>", ">"}},
	} {
		refusals := make(chan error, 100)
		c, err := nats.Connect(url, nats.UserCredentials(credentials(row.role, ours)),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		refused := func(what string, err error) {
			t.Helper()
			if err == nil {
				err = c.Flush() // the server answers in order
			}
			if err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-refusals:
				if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
					t.Errorf("%s may not %s: %v", row.role, what, err)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s may %s", row.role, what)
			}
		}
		for _, subject := range row.publish {
			refused("publish to "+subject, c.Publish(subject, nil))
		}
		for _, subject := range row.listen {
			_, err := c.SubscribeSync(subject)
			refused("listen to "+subject, err)
		}
	}
}

// TestShippedServerConfig: the example of a server is one, and its users have the permissions of their roles.
func TestShippedServerConfig(t *testing.T) {
	t.Parallel()
	p, dir := newPapers(t), t.TempDir()
	text := role(t, "server", "loadline_shop_web")
	for _, name := range []string{"teacher", "controller", "agent"} {
		writeText(t, filepath.Join(dir, name+".conf"), role(t, name, "loadline_shop_web"))
		_, id := newKeys(t, nkeys.CreateUser)
		text = strings.ReplaceAll(text, strings.ToUpper(name)+"_KEY", id)
	}
	text = strings.NewReplacer("/etc/nats/tls/tls.crt", p.cert, "/etc/nats/tls/tls.key", p.key).Replace(text)
	writeText(t, filepath.Join(dir, "server.conf"), text)
	o, err := server.ProcessConfigFile(filepath.Join(dir, "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Nkeys) != 3 || o.TLSConfig == nil || !o.JetStream {
		t.Fatalf("%d users, TLS %v, JetStream %v", len(o.Nkeys), o.TLSConfig != nil, o.JetStream)
	}
	for _, u := range o.Nkeys {
		if u.Permissions == nil || len(u.Permissions.Publish.Allow) == 0 || len(u.Permissions.Subscribe.Allow) != 1 {
			t.Errorf("%+v", u.Permissions)
		}
	}
}

// TestAnAgentMayNotPublishWeights, by the product's own call.
func TestAnAgentMayNotPublishWeights(t *testing.T) {
	t.Parallel()
	url, credentials := jwtServer(t)
	wait(t, link(t, func(c *Config) { c.URL, c.Credentials = url, credentials("teacher", c.Name) }))
	agent := link(t, func(c *Config) { c.URL, c.Credentials, c.Timeout = url, credentials("agent", c.Name), 2*time.Second })
	wait(t, agent)
	if err := agent.Put(drpc.WeightsOf(newStudent(t, "details", 9), 9)); err == nil {
		t.Error("an agent may publish weights")
	}
}
