package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestTheSandboxIsServedUntilItIsStopped: the command prints where, the page is there, and an
// interrupt ends it without an error.
func TestTheSandboxIsServedUntilItIsStopped(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		root := NewRoot()
		root.SetArgs([]string{"sandbox", "--addr", "127.0.0.1:0", "--app", "single"})
		root.SetOut(stdout)
		root.SetErr(io.Discard)
		err := root.ExecuteContext(ctx)
		stdout.Close()
		ended <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("%q, %v, %v", line, err, <-ended)
	}
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "Loadline sandbox") {
		t.Errorf("%d, %v, %s", answer.StatusCode, err, page)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
