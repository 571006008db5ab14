package measure

import (
	"bufio"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestBurnUsesTheCPUTimeAsked(t *testing.T) {
	runtime.LockOSThread() // the clock is the thread's
	defer runtime.UnlockOSThread()
	before := threadCPU()
	burn((3 * time.Millisecond).Nanoseconds())
	if used := time.Duration(threadCPU() - before); used < 3*time.Millisecond {
		t.Errorf("burnt %v of CPU, want 3 ms", used)
	}
}

// The server answers, refuses a demand that is no number, and ends with its input.
func TestServerServesUntilItsInputEnds(t *testing.T) {
	in, input := io.Pipe()
	output, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(in, out) }()
	if _, err := io.WriteString(input, `{"workers":1}`+"\n"); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	if err := burnAt(t.Context(), http.DefaultClient, address, time.Millisecond); err != nil {
		t.Error(err)
	}
	response, err := http.Get("http://" + address + "/?ns=soon")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("a demand that is no number: %s", response.Status)
	}
	if err := input.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
