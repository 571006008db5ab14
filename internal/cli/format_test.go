package cli

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

func TestYAMLHasTheFieldsOfJSON(t *testing.T) {
	value := struct {
		Zone  string    `json:"zone"`
		Count int       `json:"count"`
		Rates []float64 `json:"rates"`
		Words []string  `json:"words"`
		None  *int      `json:"none"`
		Empty []int     `json:"empty"`
		Inner struct {
			A string `json:"a<b"`
		} `json:"inner"`
	}{Zone: "eu", Count: 3, Rates: []float64{1e-9, 2.5, 1e21}, Empty: []int{},
		Words: []string{"12", "true", "no", "", "null", "two\nlines\n", "a: b", "# x", "\u2028", "ü", "1e3"}}
	value.Inner.A = "<&>"
	var asJSON, asYAML bytes.Buffer
	if err := (&Format{name: "json"}).Encode(&asJSON, value); err != nil {
		t.Fatal(err)
	}
	if err := (&Format{name: "yaml"}).Encode(&asYAML, value); err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromYAML any
	if err := json.Unmarshal(asJSON.Bytes(), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(asYAML.Bytes(), &fromYAML); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	var viaYAML any
	if err := json.Unmarshal(again, &viaYAML); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fromJSON, viaYAML) {
		t.Errorf("JSON %s\nYAML %s", &asJSON, &asYAML)
	}
	if !strings.HasPrefix(asYAML.String(), "zone: eu\ncount: 3\nrates:\n") || !strings.Contains(asYAML.String(), `"no"`) {
		t.Errorf("not in the order of the fields, in block style, or unsafe for YAML 1.1:\n%s", &asYAML)
	}
}

func TestUnknownFormatListsTheKnownOnes(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"version --output xml", "must be text, json or yaml"},
		{"bench --output xml", "must be text, json, yaml, csv or markdown"},
		{"model show x -o json", "the format of the result is --output"},
		{"simulate -o json", "-o is a path; the format is --output json"},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), strings.Fields(c.args), strings.NewReader(""), &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, %s%s, want %q", c.args, code, &stdout, &stderr, c.want)
		}
	}
}

// Commands whose result is a file or a folder, or that only run others.
var withoutFormat = []string{"loadline", "loadline apps import", "loadline report", "loadline history", "loadline model", "loadline slo",
	"loadline sandbox", "loadline ui", "loadline retrain", "loadline teacher keygen", "loadline workload", "loadline help", "loadline completion",
	"loadline man", "loadline symbols"}

func TestOutputIsAlwaysAFormatAndOAlwaysAPath(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden { // for programs
			return
		}
		if flag := c.Flags().Lookup("output"); flag == nil && !slices.Contains(withoutFormat, c.CommandPath()) {
			t.Errorf("%s has no --output", c.CommandPath())
		} else if _, ok := flagValue(flag).(*Format); flag != nil && !ok {
			t.Errorf("%s --output is not a Format", c.CommandPath())
		}
		if flag := c.Flags().ShorthandLookup("o"); flag != nil {
			if _, ok := flag.Value.(*outPath); !ok || flag.Name != "out" {
				t.Errorf("%s -o is not short for --out", c.CommandPath())
			}
		} else if c.Flags().Lookup("out") != nil {
			t.Errorf("%s --out has no -o", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(NewRoot())
}

func flagValue(f *pflag.Flag) pflag.Value {
	if f == nil {
		return nil
	}
	return f.Value
}
