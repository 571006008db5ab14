package apps

import (
	"reflect"
	"strings"
	"testing"

	"github.com/loadline/loadline"
)

func embeddedApp(t *testing.T, name string) *loadline.App {
	t.Helper()
	m, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.App
}

func TestSplitIsTheInverseOfJoin(t *testing.T) {
	info, shop := embeddedApp(t, "bookinfo"), embeddedApp(t, "boutique")
	joined, err := Join([]Joined{{"info", info}, {"shop", shop}})
	if err != nil {
		t.Fatal(err)
	}
	if joined.Name != "info (bookinfo) + shop (boutique)" || joined.ServiceIndex("shop/frontend") < len(info.Services) ||
		joined.KindIndex("info/"+info.Kinds[0].Name) != 0 {
		t.Errorf("joined %s, kinds %v", joined.Name, joined.Kinds)
	}
	for i, want := range []*loadline.App{info, shop} {
		got := Split(joined)[i]
		if !reflect.DeepEqual(got.Services, want.Services) {
			t.Errorf("services of %s are %+v", got.Name, got.Services)
		}
		for k := range want.Kinds {
			g, w := got.Kinds[k], want.Kinds[k]
			if g.Name != w.Name || g.SLO != w.SLO || !reflect.DeepEqual(g.Root, w.Root) {
				t.Errorf("kind %s of %s is %+v, want %+v", w.Name, got.Name, g, w)
			}
		}
		if len(got.Nodes) != len(info.Nodes)+len(shop.Nodes) {
			t.Errorf("%d nodes, want those of all", len(got.Nodes))
		}
	}
	if alone := Split(info); len(alone) != 1 || alone[0] != info {
		t.Error("a single application is not its own only part")
	}
}

func TestJoinReportsEveryFault(t *testing.T) {
	shop, functions := embeddedApp(t, "boutique"), embeddedApp(t, "functions")
	joined, err := Join([]Joined{{"a", shop}, {"b", shop}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Join([]Joined{{"shop", shop}, {"shop", shop}, {"f", functions}, {"a/b", shop}, {"all", joined}})
	for _, want := range []string{
		`two applications are named "shop"`, "routing random and f has least-request", `name "a/b"`, "all is already several",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if _, err := Join(nil); err == nil {
		t.Error("nothing was joined")
	}
}
