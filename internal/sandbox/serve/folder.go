package serve

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/sandbox"
)

// Engine files, as make sandbox builds them: the program, and Go's support for it in a browser, which
// must be of the same version of Go.
const (
	engineFile  = "engine.wasm"
	supportFile = "wasm_exec.js"
)

// wasmMagic is how every WebAssembly module begins.
const wasmMagic = "\x00asm"

// WriteFolder writes the page, the settings and the engine into a folder, which is made if it is not
// there. Files of the same names are replaced; others stay.
func WriteFolder(dir string, s sandbox.Settings, engineDir string) error {
	engine, err := readEngine(engineDir)
	if err != nil {
		return err
	}
	settings, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("the settings: %w", err)
	}
	files := []struct {
		name string
		data []byte
	}{
		{"engine.wasm.gz", engine[engineFile]}, {supportFile, engine[supportFile]}, {"settings.json", settings},
		{"worker.js", asset("worker.js")}, {"sandbox.css", asset("sandbox.css")}, {"sandbox.js", asset("sandbox.js")},
		{"index.html", index(inBrowser)}, // last: a folder that has it is complete
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the sandbox: %w", err)
	}
	for _, f := range files {
		if err := atomicfile.Write(filepath.Join(dir, f.name), func(w io.Writer) error {
			_, err := w.Write(f.data)
			return err
		}); err != nil {
			return fmt.Errorf("write the sandbox: %w", err)
		}
	}
	return nil
}

// readEngine reads the engine's files; the program is compressed.
func readEngine(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range []string{engineFile, supportFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the engine for browsers, %s, is not in %s: make sandbox builds it, and --engine names its folder", name, dir)
		}
		if err != nil {
			return nil, fmt.Errorf("read the engine for browsers: %w", err)
		}
		out[name] = data
	}
	if !bytes.HasPrefix(out[engineFile], []byte(wasmMagic)) {
		return nil, fmt.Errorf("%s is not WebAssembly: build it with make sandbox", filepath.Join(dir, engineFile))
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(out[engineFile])
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress the engine: %w", err)
	}
	out[engineFile] = b.Bytes()
	return out, nil
}
