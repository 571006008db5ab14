package prom

import (
	"context"
	"fmt"
	"os"
	"testing"
)

const (
	helperURL = "LOADLINE_PULL_HELPER_URL"
	helperDir = "LOADLINE_PULL_HELPER_DIR"
)

// TestMain turns this binary into a pull that can be killed, and stops the
// server that the tests share.
func TestMain(m *testing.M) {
	if url := os.Getenv(helperURL); url != "" {
		c, err := NewClient(Server{URL: url})
		if err == nil {
			_, err = killable(c, os.Getenv(helperDir)).Run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if w := shared.world; w != nil {
		stop(w.cmd)
		os.RemoveAll(w.dir)
	}
	os.Exit(code)
}

// killable is a pull of many small parts.
func killable(c *Client, dir string) *Pull {
	p := pull(c, dir, "shop")
	p.PartSteps = 40
	return p
}
