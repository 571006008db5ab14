package cli

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestRunFleetOptions(t *testing.T) {
	for _, row := range []struct {
		name        string
		args        []string
		leaderElect bool
		refused     bool
		teach       bool
		folder      string
	}{
		{"alone, with a server in the process", nil, false, false, true, "/data/fleet"},
		{"several may take over", nil, true, true, true, "/data/fleet"},
		{"a lease, and no other process", []string{"--controllers=1"}, true, false, true, "/data/fleet"},
		{"two without a lease", []string{"--controllers=2"}, false, true, true, "/data/fleet"},
		{"several share servers", []string{"--nats=nats://n0:4222", "--controllers=2"}, true, false, false, "/data/fleet"},
		{"they share servers, and this one teaches", []string{"--nats=nats://n0:4222", "--teach", "--fleet-store=/elsewhere"}, true,
			false, true, "/elsewhere"},
		{"the teacher is elsewhere", []string{"--teach=false"}, false, false, false, "/data/fleet"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var f runFleetFlags
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			f.add(flags)
			if err := flags.Parse(row.args); err != nil {
				t.Fatal(err)
			}
			if faults := f.check(flags); len(faults) > 0 {
				t.Fatal(faults)
			}
			o := f.options("/data/decisions", row.leaderElect, slog.New(slog.DiscardHandler))
			if (o.Refusal != "") != row.refused || o.Teach != row.teach || o.Server.Folder != row.folder {
				t.Errorf("refused %q, teaches %v, folder %s", o.Refusal, o.Teach, o.Server.Folder)
			}
			if row.refused && !strings.Contains(o.Refusal, "--nats") {
				t.Errorf("%q does not say what to do", o.Refusal)
			}
		})
	}
}
