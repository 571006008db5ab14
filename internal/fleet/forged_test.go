package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// inject stores a message on a subject, whatever it holds.
func inject(t *testing.T, l *Link, subject string, m drpc.Message) {
	t.Helper()
	data, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.js.Publish(t.Context(), subject, data); err != nil {
		t.Fatal(err)
	}
}

// TestForgedMessagesSilenceNoStudent: messages of a wrong subject, of the future and with impossible
// numbers are passed over, and those of the real students are counted.
func TestForgedMessagesSilenceNoStudent(t *testing.T) {
	t.Parallel()
	l := link(t, func(c *Config) { c.Server = serve(t, t.TempDir(), "") })
	wait(t, l)
	teacher, err := NewCollector(l, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	teacher.Services = []string{"cart", "web"}
	epoch := uint64(time.Now().UnixNano())
	publish(t, l, experience("cart", epoch, 1))
	forge := func(subject, service string, epoch, sequence uint64) {
		e := experience(service, epoch, sequence)
		inject(t, l, l.subject(subject), &e)
	}
	forge("web", "cart", epoch, 2)                       // by a user who may publish for web
	forge("cart", "cart", math.MaxUint64, 1)             // later processes would never come after it
	forge("cart", "cart", epoch+uint64(24*time.Hour), 1) // likewise, for a day
	forge("cart", "cart", epoch, math.MaxUint64)         // later decisions would never come after it
	forge("cart", "cart", epoch, 1<<40)                  // likewise
	forge("cart", "cart", epoch, 0)                      // numbers begin with 1
	forge("unknown", "unknown", epoch, 1)                // not a service of the model
	scene := &drpc.Snapshot{Epoch: math.MaxUint64, Sequence: 1, At: noon}
	inject(t, l, l.snapshotSubject(), scene) // likewise, of snapshots
	publish(t, l, experience("cart", epoch, 2))
	publish(t, l, experience("web", epoch, 1))
	publish(t, l, experience("cart", epoch+1, 1)) // the process was restarted
	if n, err := teacher.pass(); n != 4 || err != nil {
		t.Errorf("%d counted, %v", n, err)
	}
	got := teacher.Ledger()
	if got.Counted != 4 || got.Foreign != 1 || len(got.Marks) != 2 || teacher.Unreadable() != 7 {
		t.Errorf("%+v, %d unreadable", got, teacher.Unreadable())
	}
}

// TestTheLedgerIsBounded: names that messages make up do not fill memory and checkpoint, whether or not
// the collector knows the services.
func TestTheLedgerIsBounded(t *testing.T) {
	t.Parallel()
	l := link(t, func(c *Config) { c.Server = serve(t, t.TempDir(), "") })
	wait(t, l)
	long := strings.Repeat("x", 57<<10)
	for i := range 100 {
		e := experience(fmt.Sprint(i, long), 1, 1)
		inject(t, l, l.config.Name+".x.a", &e) // of a subject that the server takes
	}
	for i := range 200 {
		publish(t, l, experience(fmt.Sprint("made-up-", i), 1, 1))
	}
	for _, known := range [][]string{nil, {"cart"}} {
		dir := t.TempDir()
		teacher, err := NewCollector(l, dir)
		if err != nil {
			t.Fatal(err)
		}
		teacher.Services = known
		for {
			n := teacher.Uncommitted()
			if _, err := teacher.Collect(); err != nil {
				t.Fatal(err)
			}
			if teacher.Uncommitted() == n {
				break
			}
		}
		if err := writeCheckpoint(dir, l.config.Name, &teacher.pending); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, checkpointName))
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 200}[known == nil]; len(teacher.Pending().Marks) != want || info.Size() > 64<<10 {
			t.Errorf("%d names, a checkpoint of %d bytes", len(teacher.Pending().Marks), info.Size())
		}
		if err := teacher.Close(); err != nil {
			t.Fatal(err)
		}
	}
	full := &Ledger{Marks: map[string]drpc.Position{}}
	for i := range maxMarks {
		full.Marks[fmt.Sprint(i)] = drpc.Position{}
	}
	c := &Collector{}
	if c.known(&drpc.Delivery{Experience: experience("one more", 1, 1)}, full) ||
		!c.known(&drpc.Delivery{Experience: experience("1", 1, 1)}, full) {
		t.Error("a full ledger takes another name, or drops one that it has")
	}
}

// TestAForgedVersionDoesNotBlock: weights of the last version that there is are refused by students and
// replaced by the teacher.
func TestAForgedVersionDoesNotBlock(t *testing.T) {
	t.Parallel()
	app, model := bookinfo(t, 1)
	for _, version := range []uint64{math.MaxUint64, 1 << 40} {
		l := link(t, func(c *Config) { c.Server = serve(t, t.TempDir(), "") })
		wait(t, l)
		agent, err := NewAgent(l, model, app, drpc.Work{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		agent.Start()
		defer func() { _ = agent.Close(t.Context()) }()
		if err := l.Put(drpc.WeightsOf(newStudent(t, "details", 9), version)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the forged weights arrive", func() bool { return agent.Weights.Latest("details").Weights.Version == version })
		agent.adopt()
		if text := fmt.Sprint(agent.Status()); !strings.Contains(text, "versions above 1") {
			t.Errorf("they are in use: %s", text)
		}
		teacher, err := NewCollector(l, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for want := uint64(2); want < 4; want++ {
			model.Students[0].Params()[0] += 0.5
			if published, err := teacher.Publish(model); !published || err != nil || teacher.Ledger().Version != want {
				t.Fatalf("published %v, %v: version %d", published, err, teacher.Ledger().Version)
			}
			eventually(t, "the teacher's weights arrive", func() bool { return agent.Weights.Latest("details").Weights.Version == want })
			if agent.adopt(); strings.Contains(fmt.Sprint(agent.Status()), "versions above") {
				t.Errorf("%+v", agent.Status())
			}
		}
	}
}

// key makes a key pair in a folder, and returns the path without its ending.
func key(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if _, err := NewKey(path, bytes.NewReader(bytes.Repeat([]byte(name[:1]), 64))); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSignedWeights: with public keys only signed weights are used, those of another fleet or key are not,
// and a key can be replaced while the fleet runs.
func TestSignedWeights(t *testing.T) {
	t.Parallel()
	s, dir := serve(t, t.TempDir(), ""), t.TempDir()
	old, next, foreign := key(t, dir, "old"), key(t, dir, "next"), key(t, t.TempDir(), "foreign")
	_, model := bookinfo(t, 1)
	end := func(sign, trust, fleet string) *Link {
		l := link(t, func(c *Config) {
			c.Server, c.TrustKeys, c.Name = s, trust, fleet
			if sign != "" {
				c.SignKey = sign + ".key"
			}
		})
		wait(t, l)
		return l
	}
	version := func(l *Link) string {
		w, err := l.Latest("details")
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(w.Version)
	}
	student, both, open := end("", old+".pub", "a"), end("", dir, "a"), end("", "", "a")
	put := func(by *Link, version uint64) {
		t.Helper()
		if err := by.Put(drpc.WeightsOf(newStudent(t, "details", version), version)); err != nil {
			t.Fatal(err)
		}
	}
	see := func(step, ofOld, ofBoth, ofOpen string) {
		t.Helper()
		for _, row := range []struct {
			l    *Link
			want string
		}{{student, ofOld}, {both, ofBoth}, {open, ofOpen}} {
			if got := version(row.l); got != row.want {
				t.Errorf("%s: %q, want %q", step, got, row.want)
			}
		}
	}
	refused := ErrUnsigned.Error()
	put(open, 1)
	see("unsigned", refused, refused, "1")
	put(end(old, old+".pub", "a"), 2)
	see("signed by the old key", "2", "2", "2")
	put(end(next, dir, "a"), 3)
	see("signed by the new key", refused, "3", "3")
	put(end(foreign, "", "a"), 4)
	see("signed by a foreign key", refused, refused, "4")

	// Weights of another fleet, put here by someone who may write to the bucket.
	put(end(old, old+".pub", "b"), 9)
	_, from, err := end("", "", "b").ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := from.Get(t.Context(), "details")
	if err != nil {
		t.Fatal(err)
	}
	_, bucket, err := open.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Put(t.Context(), "details", stolen.Value()); err != nil {
		t.Fatal(err)
	}
	see("of another fleet", refused, refused, "9")

	// A teacher with its key replaces what its students refuse.
	teacher, err := NewCollector(end(old, dir, "a"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if published, err := teacher.Publish(model); !published || err != nil {
		t.Fatalf("published %v, %v", published, err)
	}
	see("by the teacher", "2", "2", "2")
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, other := key(t, dir, "one"), key(t, t.TempDir(), "two")
	empty, torn := t.TempDir(), filepath.Join(t.TempDir(), "torn.pub")
	writeText(t, torn, "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n")
	if info, err := os.Stat(one + ".key"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := NewKey(one, bytes.NewReader(make([]byte, 64))); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing key: %v", err)
	}
	for want, c := range map[string]Config{
		"holds no private key in PEM":  {SignKey: one + ".pub"},
		"holds no public key":          {TrustKeys: empty},
		"is not among those of":        {SignKey: one + ".key", TrustKeys: other + ".pub"},
		"no Ed25519 public key":        {TrustKeys: torn},
		"no such file":                 {TrustKeys: "absent"},
		"signing key: stat absent.key": {SignKey: "absent.key"},
		"holds no public key in PEM":   {TrustKeys: one + ".key"},
	} {
		c.Name, c.URL = "a", "nats://127.0.0.1:1"
		d := Default()
		d.Name, d.URL, d.SignKey, d.TrustKeys = c.Name, c.URL, c.SignKey, c.TrustKeys
		if _, err := Open(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
