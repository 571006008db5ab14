package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
)

// Every reason of a condition has a row that says what to do.
func TestReasonsAreInTroubleshooting(t *testing.T) {
	page := read(t, root, "docs/troubleshooting.md")
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api/v1alpha1/condition.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + reason + "`[^|]*\\|").MatchString(page) {
			t.Errorf("docs/troubleshooting.md has no row for %s", reason)
		}
		return true
	})
	if found < 30 {
		t.Errorf("only %d reasons were found", found)
	}
}

// The overlay in docs/install.md builds, and has the described effect.
func TestOverlayInTheDocs(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n# overlay/kustomization.yaml\n(.*?)```").FindStringSubmatch(read(t, root,
		"docs/install.md"))
	if blocks == nil {
		t.Fatal("docs/install.md has no overlay")
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "loadline/deploy"), os.DirFS(deploy)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "overlay"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay/kustomization.yaml"), []byte(blocks[1]), 0o644); err != nil {
		t.Fatal(err)
	}
	made := objects(t, kustomize(t, filepath.Join(dir, "overlay")))
	checkWiring(t, made, nil)
	pod := as[apps.Deployment](t, made, "Deployment", namespace, "loadline").Spec.Template.Spec
	if got := pod.Containers[0].Image; got != "registry.example.com/loadline:0.1.0" {
		t.Errorf("the image is %s", got)
	}
	if len(pod.Volumes) != 4 || pod.Volumes[3].PersistentVolumeClaim == nil ||
		pod.Containers[0].VolumeMounts[3].MountPath != "/models/models" {
		t.Errorf("volumes are %+v", pod.Volumes)
	}
}

// The values in docs/install.md are values of the chart.
func TestValuesInTheDocs(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(image: .*?)```").FindStringSubmatch(read(t, root, "docs/install.md"))
	if block == nil {
		t.Fatal("docs/install.md has no values")
	}
	checkWiring(t, objects(t, mustHelm(t, block[1])), parseValues(t, block[1]))
}

// Links of the installation pages resolve.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	for _, page := range []string{"install.md", "firsthour.md", "modes.md", "troubleshooting.md"} {
		for _, found := range link.FindAllStringSubmatch(read(t, root, "docs", page), -1) {
			target := found[1]
			if target == "" {
				target = page
			}
			text, err := os.ReadFile(filepath.Join(root, "docs", target))
			if err != nil {
				t.Errorf("%s: %s: %v", page, found[0], err)
				continue
			}
			if found[2] != "" && !slices.Contains(anchors(string(text)), found[2][1:]) {
				t.Errorf("%s: %s has no heading %s", page, target, found[2])
			}
		}
	}
}

// anchors of a page's headings, as GitHub makes them.
func anchors(page string) []string {
	var all []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

// Flags in the manifests exist.
func TestFlagsExist(t *testing.T) {
	source := read(t, root, "internal/cli/run.go") + read(t, root, "internal/cli/run_fleet.go") + read(t, root, "internal/cli/run_console.go")
	pod := as[apps.Deployment](t, objects(t,
		mustHelm(t, "keda: {tls: {secretName: x, mutual: true}}\nnamespaces: [shop]\nfleet: {nats: nats://n, credentialsSecretName: "+
			"x, tls: {secretName: x, mutual: true}, trustKeysSecretName: x}\nprometheus: http://p\nallowPrometheus: [http://p]")),
		"Deployment", namespace, "loadline").Spec.Template.Spec
	for _, arg := range pod.Containers[0].Args[1:] {
		flag, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.Contains(source, `"`+flag+`"`) {
			t.Errorf("loadline run has no --%s", flag)
		}
	}
}
