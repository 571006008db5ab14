package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Format is the value of the flag --output: how a command prints its result. The zero
// value is text.
type Format struct {
	name string
	more []string // formats of this command besides text, json and yaml
}

// Add defines the flag --output. More are formats that the command has besides text, json
// and yaml.
func (f *Format) Add(flags *pflag.FlagSet, more ...string) {
	f.more = more
	flags.Var(f, "output", "format of the result: "+f.list())
}

// AddFor is Add for a flag that applies only under a condition, such as "with --once".
func (f *Format) AddFor(flags *pflag.FlagSet, condition string) {
	f.Add(flags)
	flag := flags.Lookup("output")
	flag.Usage = condition + ": " + flag.Usage
}

func (f *Format) known() []string { return append([]string{"text", "json", "yaml"}, f.more...) }

// list is the known formats as a sentence has them.
func (f *Format) list() string {
	known := f.known()
	last := len(known) - 1
	return strings.Join(known[:last], ", ") + " or " + known[last]
}

// Set implements pflag.Value.
func (f *Format) Set(name string) error {
	if !slices.Contains(f.known(), name) {
		return fmt.Errorf("must be %s", f.list())
	}
	f.name = name
	return nil
}

// String implements pflag.Value.
func (f *Format) String() string {
	if f.name == "" {
		return "text"
	}
	return f.name
}

// Type implements pflag.Value.
func (*Format) Type() string { return "format" }

// Structured says whether the result is to be printed by Encode.
func (f *Format) Structured() bool { return f.name == "json" || f.name == "yaml" }

// Encode writes a value as JSON or YAML. The YAML is converted from the JSON: it has the
// same fields in the same order.
func (f *Format) Encode(w io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if f.name != "yaml" {
		_, err := text.WriteTo(w)
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text.Bytes(), &document); err != nil {
		return fmt.Errorf("convert the result to YAML: %w", err)
	}
	blockStyle(&document)
	out := yaml.NewEncoder(w)
	out.SetIndent(2)
	if err := out.Encode(&document); err != nil {
		return err
	}
	return out.Close()
}

// Write writes a result: the value as JSON or YAML, or its text.
func (f *Format) Write(w io.Writer, value any, text func(io.Writer) error) error {
	if f.Structured() {
		return f.Encode(w, value)
	}
	return text(w)
}

// blockStyle replaces the braces and quotes of JSON by YAML's own style. Strings that YAML
// would read as something else stay quoted.
func blockStyle(n *yaml.Node) {
	switch {
	case n.Kind != yaml.ScalarNode:
		n.Style = 0
	case n.Tag == "!!str" && !plainInEveryYAML(n.Value):
		n.Style = yaml.DoubleQuotedStyle
	default:
		n.Style = 0
	}
	for _, child := range n.Content {
		blockStyle(child)
	}
}

// plainInEveryYAML is false for words that readers of YAML 1.1 take for a boolean.
func plainInEveryYAML(s string) bool {
	return !slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(s))
}

// OutVar defines the flag --out, short -o: always a path. The name of a format is refused:
// -o was the format in some commands once.
func OutVar(flags *pflag.FlagSet, path *string, usage string) {
	flags.VarP((*outPath)(path), "out", "o", usage)
}

type outPath string

// Set implements pflag.Value.
func (p *outPath) Set(path string) error {
	if slices.Contains([]string{"text", "json", "yaml", "csv", "markdown"}, path) {
		return fmt.Errorf("-o is a path; the format is --output %s (to write to a file of that name, give ./%s)", path, path)
	}
	*p = outPath(path)
	return nil
}

// String implements pflag.Value.
func (p *outPath) String() string { return string(*p) }

// Type implements pflag.Value.
func (*outPath) Type() string { return "string" }
