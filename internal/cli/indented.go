package cli

import (
	"encoding/json"
	"io"
)

// writeIndented is what --output json writes.
func writeIndented(w io.Writer, what any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(what)
}
