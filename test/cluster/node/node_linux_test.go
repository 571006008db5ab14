package node

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestNodeBecomesReady(t *testing.T) { Start(t) }
