package measure

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
