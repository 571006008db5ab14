package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loadline/loadline/internal/cli"
)

// Exit codes of internal/cli.
const (
	exitFailure     = 1
	exitInterrupted = 130
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"loadline-lab": func() { cli.Main(NewRoot, "") }})
}

// TestScripts runs testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": checkJSON},
	})
}

// checkJSON is the script command "json FILE FIELD...": the file must be one JSON object with
// these fields.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	var object map[string]any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &object); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	for _, field := range args[1:] {
		if _, found := object[field]; found == neg {
			ts.Fatalf("%s: field %s: present %v", args[0], field, found)
		}
	}
}

// run runs the command in this process.
func run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Execute(ctx, NewRoot(), args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}
