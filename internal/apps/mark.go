package apps

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
)

// EncodeMarked is [Encode] where figures have different origins. The first origin is the
// default; marks maps a field, written as in [Figure] ("services.front.cpu.cv", or
// "services.front.bounds" for all figures in it), to the name of an origin. Keys may contain
// dots, so a field is matched as a whole and never split.
func EncodeMarked(app *loadline.App, origins []Origin, marks map[string]string) ([]byte, error) {
	root, err := encode(app, origins)
	if err != nil {
		return nil, err
	}
	known := func(name string) bool {
		return slices.ContainsFunc(origins, func(o Origin) bool { return o.Name == name })
	}
	left := len(marks)
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		if name, ok := marks[path]; ok && known(name) {
			left--
			marked(n, "!"+name)
		}
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				walk(n.Content[i+1], strings.TrimPrefix(path+"."+n.Content[i].Value, "."))
			}
		case yaml.SequenceNode:
			for i, c := range n.Content {
				walk(c, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	walk(root, "")
	if left > 0 {
		return nil, fmt.Errorf("write the application %q: %d of %d marks name a field or an origin that is not there", app.Name, left,
			len(marks))
	}
	return write(app, root)
}
