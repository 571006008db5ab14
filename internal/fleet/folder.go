package fleet

import (
	"fmt"
	"io"
	"os"

	"github.com/loadline/loadline/internal/atomicfile"
)

// openFolder creates a server's folder, accessible to its owner only, and locks it: two servers
// would destroy each other's streams.
func openFolder(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if open := info.Mode().Perm() & 0o022; open != 0 {
		return nil, fmt.Errorf("fleet: others may write to folder %s (%v): chmod go-w it", dir, info.Mode().Perm())
	}
	held, err := atomicfile.Lock(dir)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return held, nil
}
