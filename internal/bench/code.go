package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// codeVersion is part of every key: results of other code are not reused. Tests replace it.
var codeVersion = CodeVersion

// CodeVersion changes whenever the code does: it is the commit that the program was built from,
// or, if the tree was modified or the commit is unknown, a digest of the program itself.
var CodeVersion = sync.OnceValues(func() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if commit := settings["vcs.revision"]; commit != "" && settings["vcs.modified"] == "false" {
			return "commit " + commit, nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find out the version of the code: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("find out the version of the code: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("find out the version of the code: read %s: %w", path, err)
	}
	return "program " + hex.EncodeToString(sum.Sum(nil)[:6]), nil
})
